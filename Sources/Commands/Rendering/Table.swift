/// Rows of cells, aligned by display width, with two spaces between columns.
struct Table {
    struct Column {
        enum Alignment { case left, right }

        var title: String
        var alignment: Alignment
        /// Whether the column becomes narrower when the terminal is too narrow.
        var shrinks: Bool
        /// Whether text that does not fit continues on further lines instead of being cut. Only the last column
        /// can wrap.
        var wraps: Bool

        init(_ title: String, _ alignment: Alignment = .left, shrinks: Bool = false, wraps: Bool = false) {
            self.title = title
            self.alignment = alignment
            self.shrinks = shrinks || wraps
            self.wraps = wraps
        }
    }

    var columns: [Column]
    /// Each row has one cell for each column.
    var rows: [[StyledText]] = []
    var hasHeader = true
    var indent = 0

    init(_ columns: [Column]) { self.columns = columns }

    /// Creates a table without a header: names on the left, values on the right.
    static func facts(_ rows: [(String, StyledText)], indent: Int = 2) -> Table {
        var table = Table([Column(""), Column("", shrinks: true)])
        table.hasHeader = false
        table.indent = indent
        table.rows = rows.map { [StyledText($0.0, .dim), $0.1] }
        return table
    }

    /// - Parameter width: The width of the terminal; nil to cut nothing.
    func lines(width: Int?) -> [StyledText] {
        let header = columns.map { StyledText($0.title, .bold) }
        let all = hasHeader ? [header] + rows : rows
        let widths = columnWidths(of: all, in: width)
        return all.flatMap { row in
            guard columns.last?.wraps == true, let last = row.last, let width = widths.last else {
                return [line(row, widths: widths)]
            }
            return last.wrapped(to: width).enumerated().map { number, piece in
                line(
                    (number == 0 ? row.dropLast() : row.dropLast().map { _ in StyledText() }) + [piece], widths: widths)
            }
        }
    }

    private func columnWidths(of rows: [[StyledText]], in width: Int?) -> [Int] {
        var widths = columns.indices.map { index in rows.map { $0[index].width }.max() ?? 0 }
        guard let width else { return widths }
        var excess = indent + widths.reduce(0, +) + 2 * (columns.count - 1) - width
        while excess > 0 {
            // Shrink the widest column first, so that short columns stay complete.
            let candidates = columns.indices.filter { columns[$0].shrinks && widths[$0] > floor($0) }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            let next = candidates.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            let step = min(excess, max(1, widths[widest] - max(next, floor(widest))))
            widths[widest] -= step
            excess -= step
        }
        return widths
    }

    /// The minimum width of a column: one word, or enough to read wrapped text.
    private func floor(_ column: Int) -> Int { columns[column].wraps ? 24 : 8 }

    private func line(_ cells: [StyledText], widths: [Int]) -> StyledText {
        var line = StyledText.spaces(indent)
        for (index, cell) in cells.enumerated() {
            let text = cell.truncated(to: widths[index])
            let padding = StyledText.spaces(widths[index] - text.width)
            let isLast = index == cells.count - 1
            switch columns[index].alignment {
            case .left: line += isLast ? text : text + padding
            case .right: line += padding + text
            }
            if !isLast { line += "  " }
        }
        return line.withoutTrailingSpaces()
    }
}
