import Foundation
import Jobs
import Testing

@testable import SQLiteStore

/// The check of a configuration looks at the database without locks, so another process may change it meanwhile.
@Suite struct DatabaseCheckTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.database }

    init() async throws {
        directory = try TemporaryDirectory()
        let store = try directory.open()
        await store.close()
    }

    private func damage() throws {
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: 4096)
        try file.write(contentsOf: Data(repeating: 0x55, count: 20_000))
        try file.close()
    }

    @Test func damageIsFoundWhereNobodyUsesTheDatabase() throws {
        #expect(try SQLiteJobStore.check(databaseAt: path) == nil)
        try damage()
        guard
            case .damaged = #expect(
                throws: StoreOpenError.self,
                performing: {
                    try SQLiteJobStore.check(databaseAt: path)
                })
        else {
            Issue.record("expected damage to be found")
            return
        }
    }

    @Test func databaseInUseIsNotJudged() throws {
        let lock = try DatabaseLock.acquire(forDatabaseAt: path, as: .daemon)
        try damage()
        #expect(try SQLiteJobStore.check(databaseAt: path) == .inUse(path: path, pid: getpid()))
        lock.release()
    }

    @Test func databaseThatIsTakenDuringTheCheckIsNotJudged() throws {
        var lock: DatabaseLock?
        let answer = try DatabaseLocation(path).checkContent(isWhole: { _ in true }) { () throws(StoreOpenError) in
            lock = try DatabaseLock.acquire(forDatabaseAt: path, as: .daemon)
            try? damage()
        }
        #expect(answer == .inUse(path: path, pid: getpid()))
        lock?.release()
    }

    /// The other process has ended by then.
    @Test func databaseThatChangesDuringTheCheckIsNotJudged() throws {
        let answer = try DatabaseLocation(path).checkContent(isWhole: { _ in true }) { () throws(StoreOpenError) in
            try? damage()
        }
        #expect(answer == .changed(path: path))
    }

    @Test(arguments: ["-wal", "-journal"])
    func databaseThatHasToBeRecoveredIsNotJudged(suffix: String) throws {
        try Data([1]).write(to: URL(filePath: path + suffix))
        try damage()
        #expect(try SQLiteJobStore.check(databaseAt: path) == .unrecovered(log: path + suffix))
    }
}
