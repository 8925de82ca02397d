import Foundation
import Jobs
import Programs
import SQLiteStore
import Testing

/// A process that dies, and a disk that fails, while the store works.
@Suite struct CrashTests {
    static let now = Timestamp(milliseconds: 1_750_000_000_000)

    static func openWithDefinition(_ path: String) async throws -> (SQLiteJobStore, DefinitionID) {
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path))
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: now)
        return (store, try await store.definitions().definitions[0].id)
    }

    /// The child writes down each number after it was acknowledged, and is killed in the middle of its work.
    @Test func p1AKilledProcessLosesNothingAcknowledged() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.database
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let (store, definition) = try await CrashTests.openWithDefinition(path)
            let log = open(path + ".acknowledged", O_WRONLY | O_CREAT | O_APPEND, 0o600)
            await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<8 {
                    group.addTask {
                        for round in 0..<100_000 {
                            let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition)])
                            guard case .enqueued(let receipt) = try await store.enqueue([graph], now: CrashTests.now)[0]
                            else { exit(2) }
                            let line = "\(receipt.jobs[0])\n"
                            guard write(log, line, line.utf8.count) == line.utf8.count else { exit(3) }
                            if caller == 3, round == 40 { kill(getpid(), SIGKILL) }
                        }
                    }
                }
            }
        }
        let acknowledged = try String(contentsOfFile: path + ".acknowledged", encoding: .utf8).split(separator: "\n")
            .compactMap { Int64($0).map(JobID.init(_:)) }
        #expect(acknowledged.count > 40)
        // P6, P13: the lock went with the process, and the database opens at once.
        let store = try directory.open()
        let kept = Set(try await store.jobs(JobFilter(limit: 10_000)).map(\.id))
        #expect(kept.isSuperset(of: acknowledged))
        #expect(try await store.queues()[0].counts.total == Int64(kept.count))
        await store.close()
    }

    @Test func theLifeOfAKilledProcessIsShownAsEnded() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.database
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let (store, _) = try await CrashTests.openWithDefinition(path)
            _ = try await store.begin(Holder(identity: "a", host: "h", version: "1"), now: CrashTests.now)
            kill(getpid(), SIGKILL)
        }
        let reader = try SQLiteJobStore.openReadOnly(at: path)
        #expect(try await reader.holders().map { $0.endedAt == nil } == [false])
        let store = try directory.open()
        #expect(try await store.holders().map { $0.endedAt == nil } == [false])
        let life = try await store.begin(Holder(identity: "a", host: "h", version: "2"), now: Self.now)
        #expect(try await store.holders().map { $0.endedAt == nil } == [true])
        try await store.leave(life.id, now: Self.now)
        #expect(try await store.holders().map(\.endedAt) == [Self.now])
        await reader.close()
        await store.close()
    }

    /// A sync that fails makes the commit unknown, and the store writes nothing more.
    @Test(.enabled(if: mayTrace, "needs strace and the right to attach it to a process of one's own"))
    func p1AFailingSyncMakesTheCommitUnknownAndStopsTheStore() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.database
        await #expect(processExitsWith: .success) { [path = path as String] in
            let (store, definition) = try await CrashTests.openWithDefinition(path)
            let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition)])
            _ = try await store.enqueue([graph], now: CrashTests.now)
            let status = try await withFailingSyncs {
                let (told, stops) = AsyncStream.makeStream(of: StoreChange.self)
                let observation = store.observe { stops.yield($0) }
                defer { observation.cancel() }
                do throws(StoreError) {
                    _ = try await store.enqueue([graph], now: CrashTests.now)
                    return 2
                } catch {
                    guard case .commitUnknown = error else { return 3 }
                }
                do throws(StoreError) {
                    _ = try await store.enqueue([graph], now: CrashTests.now)
                    return 4
                } catch {
                    if error != .closed { return 5 }
                }
                // The runner, which may have nothing to ask for, is told.
                var iterator = told.makeAsyncIterator()
                guard case .stopped(.commitUnknown) = await iterator.next() else { return 8 }
                // Reading goes on.
                guard try await store.job(JobID(1)) != nil else { return 6 }
                return EXIT_SUCCESS
            }
            exit(status)
        }
        let store = try directory.open()
        #expect(try await store.job(JobID(1)) != nil)
        #expect([1, 2].contains(try await store.queues()[0].counts.total))
        await store.close()
    }
}

private var mayTrace: Bool {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/strace") else { return false }
    // Yama's file is missing where nothing restricts tracing.
    let scope = try? String(contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8)
    return geteuid() == 0 || scope == nil || scope?.first == "0"
}

/// Lets strace fail every sync of this process while `body` runs; 7 when it could not attach.
///
/// strace is gone when this returns. If the process ended first, strace could wait for it without end: it detaches from the
/// main thread, which the kernel reports only after all other threads.
private func withFailingSyncs(_ body: () async throws -> Int32) async throws -> Int32 {
    let strace = try ChildProcess(
        "strace",
        [
            "-f", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO", "-p",
            "\(getpid())",
        ])
    // It says so when it has attached, or why it cannot.
    guard await strace.errors.first(containing: "attached") != nil else { return 7 }
    let status = try await body()
    strace.signal(SIGTERM)
    _ = await strace.waitForEnd()
    return status
}
