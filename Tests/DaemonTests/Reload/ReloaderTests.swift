import Foundation
import Jobs
import Logging
import Programs
import Runner
import SQLiteStore
import Synchronization
import Systemd
import Testing

@testable import Daemon

@Suite struct ReloaderTests {
    /// Reloads a file with `slots: 3`. `meanwhile` is called while the definitions are read, for the first time.
    ///
    /// - Returns: The slots in force afterwards, and how often the definitions were read.
    private func reload(
        meanwhile: @escaping @Sendable (_ write: (String) -> Void, Reloader) async -> Void
    ) async throws -> (slots: Int, definitionsRead: Int) {
        let folder = try TemporaryFolder()
        let file = folder.path + "/halyard.yaml"
        let write: @Sendable (String) -> Void = { text in
            #expect(throws: Never.self) { try Data(text.utf8).write(to: URL(filePath: file)) }
        }
        write("slots: 3\n")
        let sources = ConfigurationSources(file: file, flags: ["database": folder.path + "/halyard.db"])
        var before = try DaemonConfiguration.load(sources)
        before.slots = 2
        let live = LiveConfiguration(before)
        let store = try SQLiteJobStore.open(DatabaseLock.acquire(forDatabaseAt: before.database))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let runner = JobRunner(
            store: store, as: Holder(identity: "test", host: "localhost", version: "0"), kinds: try KindRegistry([]),
            logger: logger
        ) {
            child throws(JobFailure) in throw JobFailure(code: "none", message: "none")
        }
        let reads = Mutex(0)
        let itself = Mutex<Reloader?>(nil)
        var surroundings = DaemonSurroundings()
        surroundings.sources = sources
        surroundings.logger = logger
        surroundings.builtInWorker = binary("halyard-worker")
        let workers = await WorkerSet(before, in: surroundings)
        let reloader = Reloader(surroundings, live: live, workers: workers, runner: runner) { () throws(StoreError) in
            let isFirst = reads.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst, let reloader = itself.withLock(\.self) { await meanwhile(write, reloader) }
        }
        itself.withLock { $0 = reloader }
        try await reloader.reload()
        itself.withLock { $0 = nil }
        await workers.close()
        await store.close()
        return (live.value.slots, reads.withLock(\.self))
    }

    @Test func aFileThatBreaksDuringAReloadDoesNotStopIt() async throws {
        let result = try await reload { write, _ in write("slotz: 1\n") }
        #expect(result == (3, 1))
    }

    @Test func anOlderReloadDoesNotUndoANewerOne() async throws {
        let result = try await reload { write, reloader in
            write("slots: 4\n")
            await #expect(throws: Never.self) { try await reloader.reload() }
        }
        #expect(result == (4, 2))
    }
}
