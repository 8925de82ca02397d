/// A line for people. The literal parts come from our own code; interpolated values are made safe for a
/// terminal.
///
/// Only this type reaches a terminal, so no caller can forget to make text safe.
struct StyledText: Hashable, Sendable {
    struct Run: Hashable, Sendable {
        var text: String
        var style: TextStyle
    }

    private(set) var runs: [Run] = []

    init() {}

    /// Creates a line from untrusted text, in one style.
    init(_ text: some StringProtocol, _ style: TextStyle = .plain) {
        runs = [Run(text: TerminalText.safe(text), style: style)]
    }

    var isEmpty: Bool { runs.allSatisfy(\.text.isEmpty) }
    var width: Int { runs.reduce(0) { $0 + $1.text.displayWidth } }
    var plain: String { runs.map(\.text).joined() }

    static func + (a: StyledText, b: StyledText) -> StyledText {
        var sum = a
        sum.runs += b.runs
        return sum
    }

    static func += (a: inout StyledText, b: StyledText) { a.runs += b.runs }

    static func spaces(_ count: Int) -> StyledText { StyledText(String(repeating: " ", count: max(0, count))) }

    func truncated(to width: Int) -> StyledText {
        if self.width <= width { return self }
        var result = StyledText()
        var rest = width
        for run in runs {
            let length = run.text.displayWidth
            // A run that fits exactly must still leave a column for the mark, since more text follows.
            let piece = length < rest ? run.text : (run.text + " ").truncated(to: rest)
            result.runs.append(Run(text: piece, style: run.style))
            rest -= length
            if rest <= 0 { break }
        }
        return result
    }

    /// Returns lines of at most `width` columns, broken at spaces if possible. Nothing is left out.
    func wrapped(to width: Int) -> [StyledText] {
        if self.width <= width { return [self] }
        var lines: [StyledText] = []
        var line = StyledText()
        var room = width
        func end() {
            lines.append(line.withoutTrailingSpaces())
            line = StyledText()
            room = width
        }
        for run in runs {
            var word = ""
            for character in run.text + "\u{0}" {
                if character != "\u{0}" { word.append(character) }
                guard character == " " || character == "\u{0}" else { continue }
                let length = word.displayWidth - (word.last == " " ? 1 : 0)
                if length > room, !line.isEmpty { end() }
                // If a word is longer than a line, break it where the line ends.
                for letter in word {
                    let next = letter.displayWidth
                    if next > room, letter != " " { end() }
                    line.runs.append(Run(text: String(letter), style: run.style))
                    room -= next
                }
                word = ""
            }
        }
        if !line.isEmpty { end() }
        return lines.map(\.joined)
    }

    /// The same text, with adjacent runs of the same style joined.
    private var joined: StyledText {
        var result = StyledText()
        for run in runs {
            if result.runs.last?.style == run.style {
                result.runs[result.runs.count - 1].text += run.text
            } else {
                result.runs.append(run)
            }
        }
        return result
    }

    func withoutTrailingSpaces() -> StyledText {
        var result = self
        while let last = result.runs.last {
            guard last.text.isEmpty || last.text.last == " " else { break }
            result.runs.removeLast()
            let text = last.text.reversed().drop { $0 == " " }.reversed()
            if !text.isEmpty { result.runs.append(Run(text: String(text), style: last.style)) }
        }
        return result
    }

    func rendered(colours: Bool) -> String {
        guard colours else { return plain }
        return runs.map { run in
            guard run.style != .plain, !run.text.isEmpty else { return run.text }
            return "\u{1B}[\(run.style.rawValue)m\(run.text)\u{1B}[0m"
        }.joined()
    }
}

extension StyledText: ExpressibleByStringInterpolation {
    init(stringLiteral value: StaticString) { runs = [Run(text: "\(value)", style: .plain)] }

    init(stringInterpolation interpolation: Interpolation) { runs = interpolation.runs }

    struct Interpolation: StringInterpolationProtocol {
        typealias StringLiteralType = StaticString

        fileprivate var runs: [Run] = []

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: StaticString) {
            runs.append(Run(text: "\(literal)", style: .plain))
        }

        mutating func appendInterpolation(_ value: some CustomStringConvertible, _ style: TextStyle = .plain) {
            runs.append(Run(text: TerminalText.safe(value.description), style: style))
        }

        mutating func appendInterpolation(_ text: StyledText) { runs += text.runs }
    }
}

enum TextStyle: Int, Hashable, Sendable {
    case plain = 0, bold, dim
    case red = 31, green, yellow, blue, magenta, cyan
}
