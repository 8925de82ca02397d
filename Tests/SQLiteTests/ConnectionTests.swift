import Foundation
import SQLite
import SQLiteInspection
import Testing

@Suite final class ConnectionTests {
    private let directory = FileManager.default.temporaryDirectory.appending(
        path: "halyard-sqlite-\(UUID().uuidString)")
    private var path: String { directory.path + "/a.db" }

    init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

    deinit {
        // A leftover temporary directory is harmless.
        try? FileManager.default.removeItem(at: directory)
    }

    private func walBytes() throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int)
    }

    private func open() throws -> Connection {
        let connection = try Connection(path: path, access: .readWriteCreate)
        #expect(try connection.text("PRAGMA journal_mode = WAL") == "wal")
        connection.checkpointByHand()
        try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        return connection
    }

    @Test func aGrownLogHoldsWhatWasCommittedBeforeAndAfter() throws {
        let connection = try open()
        try connection.execute("INSERT INTO t VALUES (1, 'before')")
        try connection.growWAL(to: 1 << 20)
        #expect(try walBytes() == 1 << 20)
        try connection.execute("INSERT INTO t VALUES (2, 'after')")
        #expect(try walBytes() == 1 << 20)
        // Another connection can read the grown log, and growing it again changes nothing.
        let other = try Connection(path: path, access: .readOnly)
        #expect(try other.integer("SELECT count(*) FROM t") == 2)
        try connection.growWAL(to: 1000)
        #expect(try walBytes() == 1 << 20)
        #expect(try other.text("PRAGMA integrity_check") == "ok")
    }

    @Test func theLogBeginsAnewAfterACheckpoint() throws {
        let connection = try open()
        for _ in 0..<50 { try connection.execute("INSERT INTO t (b) VALUES (hex(zeroblob(3000)))") }
        let pages = connection.walPages
        #expect(pages > 50)
        try connection.checkpoint()
        try connection.execute("INSERT INTO t (b) VALUES ('x')")
        #expect(connection.walPages < 10)
    }

    @Test func settingsTakeAndAreInForce() throws {
        let connection = try open()
        for setting in [Connection.Setting.defensive, .untrustedSchema, .foreignKeys, .keepsWALOnClose] {
            try connection.enable(setting)
        }
        #expect(try connection.integer("PRAGMA foreign_keys") == 1)
        #expect(try connection.integer("PRAGMA trusted_schema") == 0)
        connection.setLengthLimit(bytes: 1000)
        #expect(connection.lengthLimit == 1000)
        let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT zeroblob(2000)") }
        #expect(error?.primary == .tooBig)
    }

    @Test func statementsLeftHalfWayCanBeResetTogether() throws {
        let connection = try open()
        try connection.execute("INSERT INTO t (b) VALUES ('x'), ('y')")
        let select = try connection.prepare("SELECT a FROM t WHERE a >= :a", Letter.self)
        try select.bind([.a <- 1])
        #expect(try select.step())
        connection.resetStatements()
        // SQLite would refuse to bind values to a running statement.
        try select.bind([.a <- 2])
        #expect(try select.step())
        #expect(select.integer(0) == 2)
    }

    @Test func stepsAreCountedAndTheCountBeginsAnew() throws {
        let connection = try open()
        let select = try connection.prepare("SELECT count(*) FROM t")
        _ = connection.takeStepCount()
        #expect(try select.step())
        #expect(try !select.step())
        #expect(connection.takeStepCount() > 0)
        #expect(connection.takeStepCount() == 0)
    }

    @Test func aPlanNamesTheIndexItUses() throws {
        let connection = try open()
        #expect(
            try connection.queryPlan(of: "SELECT b FROM t WHERE a = 1") == [
                "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"
            ])
    }

    @Test func aMissingFileIsNotMadeUnlessAskedFor() throws {
        let error = #expect(throws: SQLiteError.self) { _ = try Connection(path: path, access: .readWrite) }
        #expect(error?.primary == .cannotOpen)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
