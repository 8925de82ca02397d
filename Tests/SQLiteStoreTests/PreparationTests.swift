import Jobs
import SQLite
import SQLiteInspection
import Testing

@testable import SQLiteStore

@Suite struct PreparationTests {
    /// The start prepares all statements of the writer and of a reader. Each name of a parameter is known to the
    /// program, or the start fails; and each name that the program knows is used.
    @Test func everyStatementIsPreparedAndEveryNameIsUsed() throws {
        let directory = try TemporaryDirectory()
        let lock = try DatabaseLock.acquire(forDatabaseAt: directory.database)
        let writer = try Opening(lock, StoreOptions(walBytes: 0)).writer()
        let connection = try DatabaseLocation(directory.database).connectForReading(StoreOptions(walBytes: 0))
        let reader = try Reader(connection, clock: SystemStoreClock())
        withExtendedLifetime(reader) {
            let texts = writer.connection.preparedTexts + connection.preparedTexts
            #expect(texts.count > 130)
            let names = texts.flatMap { $0.description.matches(of: #/:([A-Za-z_]+)/#).map { String($0.output.1) } }
            #expect(Set(names) == Set(Parameter.allCases.map { "\($0)" }))
        }
        // Nothing but statements is left to the first use.
        for group in [writer, reader] as [AnyObject] {
            for (label, value) in Mirror(reflecting: group).children where "\(type(of: value))".hasSuffix("Statements")
            {
                #expect(value is any StatementGroup, "\(label ?? "")")
            }
        }
    }
}
