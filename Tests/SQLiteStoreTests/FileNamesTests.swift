import Foundation
import Jobs
import Synchronization
import Testing

@testable import SQLiteStore

/// One file is one database, whatever its names; and a store ends when its files lose their names.
@Suite struct FileNamesTests {
    private let directory: TemporaryDirectory
    private let now = Timestamp(milliseconds: 1_750_000_000_000)
    private var path: String { directory.database }

    init() throws { directory = try TemporaryDirectory() }

    private func openWithDefinition(_ options: StoreOptions = StoreOptions()) async throws -> SQLiteJobStore {
        let store = try directory.open(options)
        try #require(store.isWatchingFiles == options.watchesFiles)
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: now)
        return store
    }

    private func enqueue(_ store: SQLiteJobStore) async throws -> JobID {
        let definition = try await store.definitions().definitions[0].id
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition)])
        guard case .enqueued(let receipt) = try await store.enqueue([graph], now: now)[0] else {
            throw CancellationError()
        }
        return receipt.jobs[0]
    }

    // MARK: Other names

    @Test func aHardLinkIsRefusedByBothNames() async throws {
        let store = try directory.open()
        await store.close()
        let other = directory.path + "/other.db"
        try FileManager.default.linkItem(atPath: path, toPath: other)
        for name in [path, other] {
            #expect(throws: StoreOpenError.manyNames(path: name, count: 2)) {
                _ = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: name))
            }
            #expect(throws: StoreOpenError.manyNames(path: name, count: 2)) {
                _ = try SQLiteJobStore.openReadOnly(at: name)
            }
        }
        unlink(other)
        await (try directory.open()).close()
    }

    /// A crash between the two naming steps of a new database.
    @Test func theDraftNameOfANewDatabaseIsNotASecondName() async throws {
        let store = try directory.open()
        await store.close()
        try FileManager.default.linkItem(atPath: path, toPath: path + "-new")
        await (try SQLiteJobStore.openReadOnly(at: path)).close()
        await (try directory.open()).close()
        #expect(!FileManager.default.fileExists(atPath: path + "-new"))
    }

    @Test func p13AFileThatWasRenamedIsStillHeld() async throws {
        let store = try directory.open(StoreOptions(watchesFiles: false))
        let other = directory.path + "/other.db"
        rename(path, other)
        #expect(throws: StoreOpenError.lockedUnderAnotherName(path: other, pid: getpid())) {
            _ = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: other))
        }
        await store.close()
        await (try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: other))).close()
    }

    // MARK: Lost files

    enum Loss: String, CaseIterable { case removed, renamed, replaced }

    private func lose(_ file: String, _ loss: Loss) throws {
        switch loss {
        case .removed: unlink(file)
        case .renamed: rename(file, file + "-away")
        case .replaced:
            try Data([1, 2, 3]).write(to: URL(filePath: file + "-other"))
            rename(file + "-other", file)
        }
    }

    /// The reason with which the store ends.
    private func end(of store: SQLiteJobStore, after body: () throws -> Void) async throws -> StoreError? {
        let (changes, told) = AsyncStream.makeStream(of: StoreError.self)
        let observation = store.observe { if case .stopped(let error) = $0 { told.yield(error) } }
        defer { observation.cancel() }
        try body()
        return await changes.first { _ in true }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["", "-wal", "-shm", "-lock"], Loss.allCases)
    func anIdleStoreEndsWhenAFileIsLost(suffix: String, loss: Loss) async throws {
        let store = try await openWithDefinition()
        let job = try await enqueue(store)
        let file = path + suffix
        let end = try await end(of: store) { try lose(file, loss) }
        #expect(end == .fileLost(path: file, isSaved: !suffix.isEmpty))
        await #expect(throws: StoreError.closed) { _ = try await enqueue(store) }
        await store.close()
        switch suffix {
        case "":
            // P11: no new database is created in its place, and the log is not applied to another one.
            #expect(throws: StoreOpenError.lost(path: path)) { _ = try directory.open() }
            if loss != .renamed { return }
            rename(path + "-away", path)
        case "-wal", "-shm":
            // Removes the file that replaced it before SQLite opens it.
            unlink(file)
        default: break
        }
        let again = try directory.open()
        #expect(try await again.job(job) != nil)
        await again.close()
    }

    /// The kernel drops the watch of a removed directory by itself, so nothing later wakes the thread.
    @Test(.timeLimit(.minutes(1))) func theWatchsThreadEndsWhenItsDirectoryIsRemoved() async throws {
        let inner = directory.path + "/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: inner + "/halyard.db"))
        let watch = try #require(store.writing?.watch)
        let end = try await end(of: store) {
            // The file stays, so its own watch reports nothing when the store closes it.
            rename(inner + "/halyard.db", directory.path + "/away.db")
            try FileManager.default.removeItem(atPath: inner)
        }
        #expect(end != nil)
        await store.close()
        while !watch.hasEnded {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test(.timeLimit(.minutes(1))) func aStoreEndsWhenItsDirectoryIsMovedAway() async throws {
        let inner = directory.path + "/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: inner + "/halyard.db"))
        try #require(store.isWatchingFiles)
        let end = try await end(of: store) { rename(inner, inner + "-away") }
        #expect(end == .fileLost(path: inner + "/halyard.db", isSaved: false))
        await store.close()
        rename(inner + "-away", inner)
        await (try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: inner + "/halyard.db"))).close()
    }

    /// The commit notices it without the watch.
    @Test(arguments: ["", "-wal"], [Loss.removed, .replaced])
    func p1NothingIsAcknowledgedOnceTheDatabaseOrItsLogIsGone(suffix: String, loss: Loss) async throws {
        let store = try await openWithDefinition(StoreOptions(watchesFiles: false))
        _ = try await enqueue(store)
        try lose(path + suffix, loss)
        await #expect(throws: StoreError.fileLost(path: path + suffix, isSaved: !suffix.isEmpty)) {
            _ = try await enqueue(store)
        }
        await store.close()
    }

    @Test(.timeLimit(.minutes(1))) func changesToOtherFilesInTheDirectoryAreNotALoss() async throws {
        let store = try await openWithDefinition()
        for _ in 0..<50 {
            try Data([1]).write(to: URL(filePath: directory.path + "/else"))
            rename(directory.path + "/else", directory.path + "/elsewhere")
            chmod(path, 0o640)
            try lose(path + "-journal", .replaced)
            unlink(path + "-journal")
        }
        let other = try SQLiteJobStore.openReadOnly(at: path)
        await other.close()
        _ = try await enqueue(store)
        await store.close()
        await (try directory.open()).close()
    }
}
