import Synchronization

/// The text of a statement. Each connection prepares it when it first uses it.
///
/// Numbers in the text and in arguments are `bigint`, so casts such as `$1::bigint[]` name the type of each parameter.
public final class Statement: Sendable {
    private static let count = Atomic(0)

    let sql: String
    /// The number of the statement within this process.
    let number: Int
    /// The name of the statement on the server.
    let name: String

    /// Creates a statement from a constant text.
    public init(_ sql: String) {
        self.sql = sql
        number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        name = "halyard_\(number)"
    }
}
