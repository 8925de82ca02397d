/// Rows aligned by display width, two spaces between columns.
struct Table {
    struct Column {
        enum Alignment { case left, right }

        var title: String
        var alignment: Alignment
        /// Whether the column gives way when the terminal is too narrow.
        var shrinks: Bool
        /// Whether what does not fit goes on in further lines, rather than being left out. Of the last column only.
        var wraps: Bool

        init(_ title: String, _ alignment: Alignment = .left, shrinks: Bool = false, wraps: Bool = false) {
            self.title = title
            self.alignment = alignment
            self.shrinks = shrinks || wraps
            self.wraps = wraps
        }
    }

    var columns: [Column]
    /// Each as long as `columns`.
    var rows: [[StyledText]] = []
    var hasHeader = true
    var indent = 0

    init(_ columns: [Column]) { self.columns = columns }

    /// Names at the left and what they are at the right, without a header.
    static func facts(_ rows: [(String, StyledText)], indent: Int = 2) -> Table {
        var table = Table([Column(""), Column("", shrinks: true)])
        table.hasHeader = false
        table.indent = indent
        table.rows = rows.map { [StyledText($0.0, .dim), $0.1] }
        return table
    }

    /// - Parameter width: Of the terminal; nil to leave nothing out.
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
            // The widest gives first, so that short columns stay whole.
            let candidates = columns.indices.filter { columns[$0].shrinks && widths[$0] > floor($0) }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            let next = candidates.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
            let step = min(excess, max(1, widths[widest] - max(next, floor(widest))))
            widths[widest] -= step
            excess -= step
        }
        return widths
    }

    /// Narrower than this no column gets: a word, or what is readable line by line.
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
