/// The reason why a text is not a calendar expression.
public struct CalendarProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text of the expression.
    public var text: String
    /// The position of the error in the text, in characters from 1.
    public var column: Int
    /// The fault, and what to write instead.
    public var message: String

    /// A one-line description, such as `"Mon 25:00", column 5: expected an hour from 0 to 23, found 25`.
    public var description: String { "\"\(text)\", column \(column): \(message)" }
}
