import Foundation
import JobStoreContract
import Jobs
import SQLiteStore
import Testing

/// A directory for one test, removed with it.
final class TemporaryDirectory: Sendable {
    let path: String

    /// - Parameter inMemory: Whether to use a file system in memory, if there is one; for many files that need no disk.
    init(inMemory: Bool = false) throws {
        let parent =
            inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        var template = Array((parent + "/halyard-store-XXXXXX").utf8CString)
        let made = try #require(
            template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } })
        path = made
    }

    var database: String { path + "/halyard.db" }

    deinit {
        // A leftover in the temporary directory harms nobody.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Opens the store, by default without a file watch: the kernel's limit is 128 for all tests that run at once.
    func open(
        _ options: StoreOptions = StoreOptions(watchesFiles: false), clock: any StoreClock = SystemStoreClock()
    ) throws -> SQLiteJobStore {
        try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: database), options: options, clock: clock)
    }
}

/// Stopped clocks, since these tests use the same time for every request.
struct StoppedClock: StoreClock {
    let wall: Timestamp
    var boot: String { "the only one" }
    var sinceBoot: Duration { .seconds(1000) }
}
