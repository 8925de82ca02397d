import Foundation
import Jobs
import SQLiteStore
import Synchronization
import Testing

/// Tests on small or read-only file systems, which only root can mount.
@Suite(.serialized, .enabled(if: geteuid() == 0, "mounting needs root")) struct MountedTests {
    /// A tmpfs, unmounted with the value.
    final class Mount {
        let path: String
        private let directory: TemporaryDirectory

        init(options: String) throws {
            directory = try TemporaryDirectory()
            path = directory.path
            try #require(mount("tmpfs", path, "tmpfs", 0, options) == 0, "\(String(cString: strerror(errno)))")
        }

        func remount(flags: Int = 0, _ options: String = "") throws {
            try #require(
                mount(nil, path, nil, UInt(MS_REMOUNT | flags), options) == 0, "\(String(cString: strerror(errno)))")
        }

        deinit {
            // The mount may be gone already; the directory is temporary either way.
            umount2(path, Int32(MNT_DETACH))
        }
    }

    @Test func aReadOnlyDiskIsNamed() async throws {
        let mount = try Mount(options: "size=64m")
        let path = mount.path + "/halyard.db"
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path))
        await store.close()
        try mount.remount(flags: MS_RDONLY)
        #expect(throws: StoreOpenError.readOnlyDirectory(path: mount.path)) {
            _ = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path))
        }
    }

    /// P11, P13: its log would lie elsewhere than that of the daemon that uses the file by its own name.
    @Test(arguments: [false, true]) func aDatabaseThatIsMountedAsASingleFileIsRefused(isInUse: Bool) async throws {
        let (inside, outside) = (try TemporaryDirectory(), try TemporaryDirectory())
        let store = try inside.open()
        if !isInUse { await store.close() }
        try Data().write(to: URL(filePath: outside.database))
        try #require(
            mount(inside.database, outside.database, nil, UInt(MS_BIND), nil) == 0,
            "\(String(cString: strerror(errno)))")
        // Nothing but this test looks into the directory, so the unmounting has no reason to fail.
        defer { umount2(outside.database, Int32(MNT_DETACH)) }
        #expect(throws: StoreOpenError.mountedAlone(path: outside.database)) { _ = try outside.open() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).allSatisfy { !$0.hasSuffix("-wal") })
        if isInUse { await store.close() }
        await (try inside.open()).close()
    }

    @Test func aFullDiskIsToldAtOpen() throws {
        let mount = try Mount(options: "size=4m")
        let path = mount.path + "/halyard.db"
        guard
            case .diskFull = #expect(
                throws: StoreOpenError.self,
                performing: { _ = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path)) })
        else {
            Issue.record("expected a full disk")
            return
        }
    }

    @Test func aFullDiskIsReportedOnceAlthoughSmallCommitsStillFit() async throws {
        let mount = try Mount(options: "size=12m")
        let path = mount.path + "/halyard.db"
        let options = StoreOptions(walBytes: 1 << 20, checkpointPages: 100, minimumFreeBytes: 1 << 20)
        let now = Timestamp(milliseconds: 1)
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path), options: options)
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: now)
        let definition = try await store.definitions().definitions[0].id
        let reports = Mutex<[StoreError?]>([])
        let observation = store.observe { change in
            guard case .condition = change else { return }
            let problem = store.condition.problem
            reports.withLock { if problem != $0.last ?? nil { $0.append(problem) } }
        }
        defer { observation.cancel() }
        func isAccepted(bytes: Int) async throws -> Bool {
            let input = JSONText(trusted: [34] + [UInt8](repeating: 120, count: bytes) + [34])
            let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: input)])
            do throws(StoreError) {
                _ = try await store.enqueue([graph], now: now)
                return true
            } catch {
                try #require(error == .diskFull(path: path))
                return false
            }
        }
        let filler = URL(filePath: mount.path + "/filler")
        try Data(count: 200_000).write(to: filler)
        for bytes in [500_000, 1] { while try await isAccepted(bytes: bytes) {} }
        // There is room for a few small jobs, and for no large one.
        try FileManager.default.removeItem(at: filler)
        for _ in 1...2 {
            #expect(try await isAccepted(bytes: 1))
            #expect(try await !isAccepted(bytes: 500_000))
        }
        #expect(reports.withLock(\.self) == [.diskFull(path: path)])
        // Whoever begins to observe now learns of it, too.
        #expect(store.condition.problem == .diskFull(path: path))
        try mount.remount("size=64m")
        #expect(try await isAccepted(bytes: 500_000))
        #expect(reports.withLock(\.self) == [.diskFull(path: path), nil])
        #expect(store.condition.problem == nil)
        await store.close()
    }

    /// Whatever the error, what was acknowledged is there afterwards, and the database opens again.
    @Test func p1ADiskThatFillsUpLosesNothingAcknowledged() async throws {
        let mount = try Mount(options: "size=12m")
        let path = mount.path + "/halyard.db"
        let options = StoreOptions(walBytes: 1 << 20, checkpointPages: 100, minimumFreeBytes: 1 << 20)
        let now = Timestamp(milliseconds: 1)
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path), options: options)
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: now)
        let definition = try await store.definitions().definitions[0].id
        let input = JSONText(trusted: [34] + [UInt8](repeating: 120, count: 100_000) + [34])
        var accepted: [JobID] = []
        var failure: StoreError?
        while failure == nil {
            do {
                let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: input)])
                guard case .enqueued(let receipt) = try await store.enqueue([graph], now: now)[0] else { break }
                accepted += receipt.jobs
            } catch {
                failure = error
            }
        }
        #expect(failure == .diskFull(path: path))
        #expect(accepted.count > 10)
        // With room again it goes on by itself, also with copying the log into the database.
        try mount.remount("size=64m")
        for _ in 0..<100 {
            let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: input)])
            guard case .enqueued(let receipt) = try await store.enqueue([graph], now: now)[0] else { break }
            accepted += receipt.jobs
        }
        #expect(store.logBytes < 12 << 20)
        await store.close()
        let again = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: path), options: options)
        for job in accepted { #expect(try await again.job(job)?.input == input) }
        await again.close()
    }
}
