import Foundation
import Jobs
import Programs
import SQLiteStore
import Testing

/// Another program writes into the database file while it is in use (`cp backup.db halyard.db`). Its name and its inode stay.
@Suite struct OverwrittenTests {
    private let directory: TemporaryDirectory
    private let now = Timestamp(milliseconds: 1_750_000_000_000)
    private var path: String { directory.database }
    private var copy: String { directory.path + "/copy.db" }

    init() throws { directory = try TemporaryDirectory() }

    private func open(_ options: StoreOptions) async throws -> SQLiteJobStore {
        let store = try directory.open(options)
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: now)
        return store
    }

    @discardableResult
    private func enqueue(_ store: SQLiteJobStore) async throws -> JobID {
        let definition = try await store.definitions().definitions[0].id
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: JSONText(trusted: input))])
        guard case .enqueued(let receipt) = try await store.enqueue([graph], now: now)[0] else {
            throw CancellationError()
        }
        return receipt.jobs[0]
    }

    private var input: [UInt8] { Array("\"\(String(repeating: "x", count: 20_000))\"".utf8) }

    /// A process of its own: closing the file in this one would drop SQLite's locks.
    private func copy(_ from: String, _ to: String) async throws {
        let copied = try await ChildProcess.run("cp", ["--no-preserve=all", from, to])
        try #require(copied.status == .exited(0), "\(copied.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func anIdleStoreEndsWhenItsDatabaseIsOverwritten() async throws {
        let store = try await open(StoreOptions())
        try #require(store.isWatchingFiles)
        try await copy(path, copy)
        try await enqueue(store)
        let (changes, told) = AsyncStream.makeStream(of: StoreError.self)
        let observation = store.observe { if case .stopped(let error) = $0 { told.yield(error) } }
        try await copy(copy, path)
        #expect(await changes.first { _ in true } == .overwritten(path: path))
        observation.cancel()
        await #expect(throws: StoreError.closed) { _ = try await enqueue(store) }
        await store.close()
        // The next start checks the whole file.
        #expect(try String(contentsOfFile: path + "-lock", encoding: .utf8).contains("suspect"))
    }

    /// P1: even before anybody has noticed.
    @Test func nothingIsAcknowledgedOnceTheDatabaseIsOverwritten() async throws {
        let store = try await open(StoreOptions(watchesFiles: false))
        try await copy(path, copy)
        try await enqueue(store)
        try await copy(copy, path)
        await #expect(throws: StoreError.overwritten(path: path)) { try await enqueue(store) }
        await store.close()
    }

    /// Checkpoints of its own, and programs that only read, are nothing to it.
    @Test func readersAndCheckpointsEndNoStore() async throws {
        let store = try await open(StoreOptions(checkpointPages: 20))
        for _ in 1...10 {
            for _ in 1...5 { try await enqueue(store) }
            let counted = try await ChildProcess.run("sqlite3", [path, "SELECT count(*) FROM job"])
            #expect(counted.status == .exited(0), "\(counted.errors)")
        }
        try await enqueue(store)
        await store.close()
    }
}
