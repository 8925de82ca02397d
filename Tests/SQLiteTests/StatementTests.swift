import SQLite
import Testing

@Suite struct StatementTests {
    @Test func valuesComeBackAsTheyWereBound() throws {
        let connection = try Connection(path: ":memory:", access: .readWriteCreate)
        try connection.execute("CREATE TABLE t (a INTEGER, b TEXT, c TEXT, d INTEGER) STRICT")
        let insert = connection.prepare("INSERT INTO t VALUES (:a, :b, :c, :d)")
        insert.bind(1, Int64.min)
        try insert.bind(2, "naïve \u{1F600}")
        insert.bindNull(4)
        try insert.withBound(3, text: []) { () throws(SQLiteError) in try insert.run() }
        let select = connection.prepare("SELECT a, b, c, d FROM t")
        #expect(try select.step())
        #expect(select.integer(0) == .min)
        #expect(select.string(1) == "naïve \u{1F600}")
        #expect(select.bytes(2) == [])
        #expect(select.optionalInteger(3) == nil)
        #expect(try !select.step())
    }

    @Test func aStatementThatCannotBePreparedFailsAtEachStep() throws {
        let connection = try Connection(path: ":memory:", access: .readWriteCreate)
        let statement = connection.prepare("SELECT missing FROM nowhere")
        #expect(throws: SQLiteError.self) { try connection.checkPreparations() }
        statement.bind(1, Int64(1))
        let error = #expect(throws: SQLiteError.self) { _ = try statement.step() }
        #expect(error?.message.contains("nowhere") == true)
    }

    @Test func anErrorCarriesTheExtendedCode() throws {
        let connection = try Connection(path: ":memory:", access: .readWriteCreate)
        try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
        let error = #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t VALUES (1)") }
        #expect(error?.primary == .constraint)
        #expect(error?.code == 1555)
    }

    @Test func aStatementCanRunAgainAfterAnError() throws {
        let connection = try Connection(path: ":memory:", access: .readWriteCreate)
        try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        let insert = connection.prepare("INSERT INTO t VALUES (:a)")
        insert.bind(1, 1)
        try insert.run()
        #expect(throws: SQLiteError.self) { try insert.run() }
        insert.bind(1, 2)
        #expect(try insert.runCountingChanges() == 1)
    }
}
