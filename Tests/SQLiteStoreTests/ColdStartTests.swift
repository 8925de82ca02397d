import Foundation
import Glibc
import Jobs
import Programs
import SQLite
import SQLiteStore
import Testing

/// A store opens the contents of the disk, not of the page cache (P1, P11).
@Suite struct ColdStartTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.database }

    init() throws { directory = try TemporaryDirectory() }

    private func refusal(_ options: StoreOptions = StoreOptions()) throws -> StoreOpenError {
        try #require(throws: StoreOpenError.self) { _ = try directory.open(options) }
    }

    private func makeDatabase() async throws {
        let store = try directory.open()
        await store.close()
    }

    private enum Boot: CaseIterable { case none, this, other, unknown }

    private func leaveMark(_ text: String) throws {
        try "\n\n\(text)\n".write(toFile: path + "-lock", atomically: false, encoding: .utf8)
    }

    /// An open connection prevents reading the database from the disk again.
    @Test(arguments: Boot.allCases)
    private func p1BesideAReaderAStoreOpensOnlyWhereNoSyncFailed(boot: Boot) async throws {
        let store = try directory.open()
        // The reader is a separate process, since closing a file drops the locks that this process has on it. It waits
        // on a pipe without a writer.
        let pipe = path + "-pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let reader = try ChildProcess(
            "sqlite3", ["-readonly", path], input: "SELECT count(*) FROM job;\n.shell echo ready\n.read '\(pipe)'\n")
        _ = try #require(await reader.output.first(containing: "ready"))
        await store.close()
        let id = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8).dropLast()
        switch boot {
        case .none: break
        case .this: try leaveMark("failed-sync=\(id)")
        case .other: try leaveMark("failed-sync=0fe97eb0-8a62-4e31-a0f2-ef3e5ddbb71d")
        case .unknown: try leaveMark("failed-sync")
        }
        let options = StoreOptions(readerPatience: .milliseconds(20))
        if boot == .this || boot == .unknown {
            #expect(try refusal(options) == .unsyncedWithReader(path: path, pid: reader.pid))
            #expect(try String(contentsOfFile: path + "-lock", encoding: .utf8).contains("failed-sync"))
        } else {
            await (try directory.open(options)).close()
        }
        await reader.stop()
    }

    @Test func p1TheMarkOfAFailedSyncGoesWithTheNextStart() async throws {
        try await makeDatabase()
        try leaveMark("failed-sync")
        await (try directory.open()).close()
        #expect(try String(contentsOfFile: path + "-lock", encoding: .utf8).isEmpty)
    }

    /// The kernel keeps mapped pages in memory.
    @Test func p1AFileThatStaysInMemoryIsNamed() async throws {
        try await makeDatabase()
        try leaveMark("failed-sync")
        let size = try Data(contentsOf: URL(filePath: path)).count
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let mapping = try #require(mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0))
        try #require(mapping != MAP_FAILED)
        defer {
            munmap(mapping, size)
            close(descriptor)
        }
        let sum = UnsafeRawBufferPointer(start: mapping, count: size).reduce(0) { $0 &+ Int($1) }
        try #require(sum > 0)
        // If temporary files are only in memory, there is no disk to read from.
        if try isInMemory() { return }
        #expect(try refusal() == .stillCached(path: path))
        // Without the mark, memory and disk are equal.
        try leaveMark("")
        await (try directory.open()).close()
    }

    private func isInMemory() throws -> Bool {
        let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8).split(separator: "\n")
        let fields = mounts.map { $0.split(separator: " ") }
            .filter { directory.path.hasPrefix($0[1] == "/" ? "/" : $0[1] + "/") }
        return fields.max { $0[1].count < $1[1].count }?[2] == "tmpfs"
    }

    /// A file that is too large for a check at each start is checked after a statement has found damage.
    @Test func p11ReportedDamageIsCheckedOnTheDisk() async throws {
        try await makeDatabase()
        let root = try #require(
            try Connection(path: path, access: .readOnly).integer(
                "SELECT rootpage FROM sqlite_schema WHERE name = 'attempt'"))
        var bytes = try Array(Data(contentsOf: URL(filePath: path)))
        for index in Int(root - 1) * 4096..<Int(root) * 4096 { bytes[index] = 7 }
        try Data(bytes).write(to: URL(filePath: path))
        let store = try directory.open(StoreOptions(checkedBytes: 0))
        await #expect(throws: StoreError.self) { _ = try await store.attempts(of: JobID(1)) }
        await store.close()
        #expect(try String(contentsOfFile: path + "-lock", encoding: .utf8).contains("suspect"))
        guard case .damaged = try refusal(StoreOptions(checkedBytes: 0)) else {
            Issue.record("expected damage to be found")
            return
        }
    }
}
