/// The text of a statement or a script. It is written as a literal and can contain only numbers and other SQL, so a
/// value from outside cannot become part of it.
public struct SQL: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringInterpolation {
    let text: String
    public var description: String { text }

    public init(stringLiteral text: String) { self.text = text }

    public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    /// Turns text that was built at run time into SQL. The text must never contain a value from outside.
    public init(trusted text: String) { self.text = text }

    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(2 * literalCapacity) }

        public mutating func appendLiteral(_ literal: String) { text += literal }

        public mutating func appendInterpolation(_ sql: SQL) { text += sql.text }

        public mutating func appendInterpolation(_ number: some BinaryInteger) { text += String(number) }

        /// Appends the number of a case, such as `\(JobState.ready)`.
        public mutating func appendInterpolation<Case: RawRepresentable>(_ value: Case)
        where Case.RawValue: BinaryInteger {
            text += String(value.rawValue)
        }
    }
}
