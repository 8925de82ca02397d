/// Why a text is no calendar expression.
public struct CalendarProblem: Error, Hashable, Sendable, CustomStringConvertible {
    public var text: String
    /// Where in the text, from 1.
    public var column: Int
    /// What is wrong there and what to write.
    public var message: String

    /// `"Mon 25:00", column 5: expected an hour from 0 to 23, found 25`
    public var description: String { "\"\(text)\", column \(column): \(message)" }
}
