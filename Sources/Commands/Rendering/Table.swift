/// Rows of cells, aligned by display width, with two spaces between columns.
struct Table {
    enum Alignment { case left, right }

    /// A column without its cells.
    struct Format {
        var title: String
        var alignment: Alignment
        /// Whether the column becomes narrower when the terminal is too narrow.
        var shrinks: Bool
        /// Whether text that does not fit continues on further lines instead of being cut. Only the last column
        /// can wrap.
        var wraps: Bool
    }

    /// A column, and its cell for each element.
    struct Column<Element> {
        fileprivate let format: Format
        fileprivate let cell: (Element) -> StyledText

        init(
            _ title: String = "", _ alignment: Alignment = .left, shrinks: Bool = false, wraps: Bool = false,
            cell: @escaping (Element) -> StyledText
        ) {
            format = Format(title: title, alignment: alignment, shrinks: shrinks || wraps, wraps: wraps)
            self.cell = cell
        }
    }

    private let columns: [Format]
    private let rows: [[StyledText]]
    private let hasHeader: Bool
    private let indent: Int

    /// Creates a table with one row for each element. A table without titles has no header, and is indented.
    init<Element>(_ elements: some Sequence<Element>, _ columns: [Column<Element>], indent: Int? = nil) {
        self.columns = columns.map(\.format)
        rows = elements.map { element in columns.map { $0.cell(element) } }
        hasHeader = columns.contains { !$0.format.title.isEmpty }
        self.indent = indent ?? (hasHeader ? 0 : 2)
    }

    /// A table of names and values, without those that have no value.
    static func facts(_ facts: [(name: String, value: StyledText?)]) -> Table {
        let known = facts.compactMap { fact in fact.value.map { (name: fact.name, value: $0) } }
        return Table(
            known, [Column { StyledText($0.name, .dim) }, Column(shrinks: true) { $0.value }])
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
