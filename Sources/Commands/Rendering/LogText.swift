import ControlProtocol
import Glibc
import Jobs

/// Prints the entries of logs: lines to standard output, and messages about the log to standard error.
struct LogText {
    let session: Session
    let showsTimes: Bool
    private var attempt: Int?
    /// Whether the last line lacks its line break.
    private var isInLine = false

    init(session: Session, showsTimes: Bool) {
        self.session = session
        self.showsTimes = showsTimes
    }

    mutating func print(_ notice: LastingLog.Notice) throws {
        switch notice {
        case .pieces(let pieces): try print(pieces)
        case .gone(let what): try note("the daemon stopped\(what)")
        case .back: try note("the daemon is running again")
        }
    }

    mutating func print(_ pieces: [LogPiece]) throws {
        for piece in pieces { try print(piece) }
        try session.output.flush()
    }

    private mutating func print(_ piece: LogPiece) throws {
        if session.isJSON { return try session.output.json(piece.json) }
        if let attempt, attempt != piece.attempt { try note("attempt \(piece.attempt):") }
        attempt = piece.attempt
        switch piece.entry {
        case .line(let line): try print(line)
        case .leftOut(let gap):
            // Part of the output, so that a saved log does not look complete.
            try endLine()
            try session.output.line(
                "… \(AmountText.bytes(gap.bytes)) (\(AmountText.count(Int(gap.lines), "line"))) left out …")
        case .end(.finished): break
        case .end(.open):
            try endLine()
            try session.output.flush()
        case .end(.interrupted): try note("the log ends here, because the daemon stopped during the attempt")
        case .end(.failed(let code)):
            try note(
                "the log ends here, because it could not be written: \(String(cString: strerror(code))). The attempt continued without it"
            )
        }
    }

    /// Ends the last line on a terminal, so that the shell's prompt begins a new one.
    mutating func finish() throws {
        if session.output.isTerminal { try endLine() }
        try session.output.flush()
    }

    /// The text of a line for a terminal: tabs become spaces, and the carriage return of a DOS line break disappears.
    static func shown(_ line: String) -> StyledText {
        var line = Substring(line).unicodeScalars
        if line.last == "\r" { line.removeLast() }
        var text = StyledText()
        for (index, part) in line.split(separator: "\t", omittingEmptySubsequences: false).enumerated() {
            if index > 0 { text += .spaces(8 - text.width % 8) }
            text += StyledText(Substring(part))
        }
        return text
    }

    private mutating func print(_ line: LogLine) throws {
        let time = showsTimes && !isInLine ? line.arrivedAt.iso8601 + " " : ""
        if session.output.isTerminal {
            let text = Self.shown(String(decoding: line.bytes, as: UTF8.self))
            try session.output.write(("\(time, .dim)" + text).rendered(colours: session.output.hasColours))
        } else {
            try session.output.write(bytes: Array(time.utf8) + line.bytes)
        }
        if line.isWhole { try session.output.write("\n") }
        isInLine = !line.isWhole
    }

    private mutating func endLine() throws {
        if isInLine { try session.output.write("\n") }
        isInLine = false
    }

    private mutating func note(_ text: StyledText) throws {
        if session.output.isTerminal { try endLine() }
        // The lines before the message come first, if both go to the same place.
        try session.output.flush()
        try session.note(text)
    }
}
