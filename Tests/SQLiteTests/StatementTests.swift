import SQLiteInspection
import Testing

@testable import SQLite

enum Letter: UInt8, ParameterName {
    case a, b, c, d
}

@Suite struct StatementTests {
    private let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:", access: .readWriteCreate)
        try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c TEXT, d INTEGER) STRICT")
    }

    @Test func valuesComeBackAsTheyWereBound() throws {
        let insert = try connection.prepare("INSERT INTO t VALUES (:a, :b, :c, :d)", Letter.self)
        // Values may be bound in any order.
        let none = Array("".utf8)
        try none.withUnsafeBufferPointer { none in
            try insert.run([
                .d <- nil as Int?, .b <- "naïve \u{1F600}", .c <- BoundValue.uncopied(none), .a <- Int64.min,
            ])
        }
        try insert.run([.a <- 1, .b <- BoundValue.utf8(Array("ü".utf8)), .c <- nil as String?, .d <- true])
        let select = try connection.prepare("SELECT a, b, c, d FROM t ORDER BY a")
        #expect(try select.step())
        #expect(select.integer(0) == .min)
        #expect(select.string(1) == "naïve \u{1F600}")
        #expect(select.bytes(2) == [])
        #expect(select.optionalInteger(3) == nil)
        #expect(try select.step())
        #expect(select.string(1) == "ü")
        #expect(select.isNull(2))
        #expect(select.integer(3) == 1)
        #expect(try !select.step())
    }

    @Test func rowsAreReadAndTheStatementIsReset() throws {
        try connection.execute("INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')")
        let select = try connection.prepare("SELECT a FROM t WHERE a >= :a ORDER BY a", Letter.self)
        #expect(try select.all([.a <- 1]) { $0.integer(0) } == [1, 2])
        #expect(try select.first([.a <- 2]) { $0.integer(0) } == 2)
        #expect(try select.first([.a <- 3]) { $0.integer(0) } == nil)
        #expect(try select.exists([.a <- 2]))
        #expect(try !select.exists([.a <- 3]))
        let stop = SQLiteError(code: 1, message: "stop")
        #expect(throws: stop) {
            _ = try select.all([.a <- 1]) { (_) throws(SQLiteError) -> Int in throw stop }
        }
        #expect(try select.first([.a <- 1]) { $0.integer(0) } == 1)
    }

    /// Preparing a statement compares the SQL's parameter names with the program's.
    @Test(arguments: ["SELECT :e", "SELECT ?1", "SELECT ?", "SELECT $a", "SELECT missing FROM nowhere"] as [SQL])
    func aStatementWithAnUnknownNameCannotBePrepared(_ sql: SQL) throws {
        let error = #expect(throws: SQLiteError.self) { _ = try connection.prepare(sql, Letter.self) }
        let message = error?.message ?? ""
        #expect(message.contains("no value can be bound") || message.contains("nowhere"))
    }

    @Test func aStatementThatWasNotPreparedFails() throws {
        let error = #expect(throws: SQLiteError.self) { try Statement<Letter>("SELECT 1").run() }
        #expect(error?.message.contains("not prepared") == true)
    }

    @Test func aValueThatIsMissingOrOneTooManyTraps() async {
        await #expect(processExitsWith: .failure) {
            let connection = try Connection(path: ":memory:", access: .readWriteCreate)
            try connection.prepare("SELECT :a, :b", Letter.self).run([.a <- 1])
        }
        await #expect(processExitsWith: .failure) {
            let connection = try Connection(path: ":memory:", access: .readWriteCreate)
            try connection.prepare("SELECT :a", Letter.self).run([.a <- 1, .b <- 2])
        }
    }

    private struct Statements: StatementGroup {
        struct Inner: StatementGroup { let select = Statement<Letter>("SELECT :a") }

        let number = 7
        let select = Statement<Letter>("SELECT :b")
        let inner = Inner()
        let list = [Inner(), Inner()]
    }

    @Test func aGroupIsPreparedWithAllItContains() throws {
        let statements = Statements()
        try connection.prepare(statementsOf: statements)
        #expect(try statements.select.exists([.b <- 1]))
        for inner in [statements.inner] + statements.list { #expect(try inner.select.exists([.a <- 1])) }
        #expect(connection.preparedTexts.count == 4)
    }

    @Test func anErrorCarriesTheExtendedCode() throws {
        try connection.execute("INSERT INTO t (a) VALUES (1)")
        let error = #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t (a) VALUES (1)") }
        #expect(error?.primary == .constraint)
        #expect(error?.code == 1555)
    }

    @Test func aStatementCanRunAgainAfterAnError() throws {
        let insert = try connection.prepare("INSERT INTO t (a) VALUES (:a)", Letter.self)
        try insert.run([.a <- 1])
        #expect(throws: SQLiteError.self) { try insert.run([.a <- 1]) }
        #expect(try insert.runCountingChanges([.a <- 2]) == 1)
    }
}
