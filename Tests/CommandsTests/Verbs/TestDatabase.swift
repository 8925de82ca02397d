import Foundation
import Jobs
import PostgresServer
import PostgresStore
import SQLiteStore
import Testing

/// The database of one test: a file, or a database of a PostgreSQL server if `HALYARD_TEST_STORE` is `postgresql`.
///
/// `scripts/test` runs the tests that work with both kinds of databases once with each.
enum TestDatabase {
    case file(path: String)
    case server(PostgresServer, url: String)

    static let isOnServer = ProcessInfo.processInfo.environment["HALYARD_TEST_STORE"] == "postgresql"

    /// - Parameter directory: The folder of the file.
    init(in directory: URL) throws {
        guard Self.isOnServer else {
            self = .file(path: directory.appending(path: "halyard.db").path)
            return
        }
        let server = try #require(PostgresServer.shared, "PostgreSQL is not installed")
        self = .server(server, url: try server.makeDatabase())
    }

    /// The value of `--database`.
    var text: String {
        switch self {
        case .file(let path): path
        case .server(_, let url): url
        }
    }

    /// The name of the database in messages.
    var name: String {
        switch self {
        case .file(let path): path
        case .server(_, let url): DatabaseAddress.postgresql(url: url).description
        }
    }

    /// Opens the store as a daemon does, with a stopped clock.
    ///
    /// - Returns: The store, and the function that ends its use.
    func open() async throws -> (store: any JobStore, close: @Sendable () async throws -> Void) {
        let clock = StoppedClock(wall: Samples.now)
        switch self {
        case .file(let path):
            let lock = try DatabaseLock.acquire(forDatabaseAt: path)
            let store = try SQLiteJobStore.open(lock, options: .brief, clock: clock)
            return (
                store,
                {
                    await store.close()
                    lock.release()
                }
            )
        case .server(_, let url):
            let store = try PostgresJobStore.open(url, clock: clock)
            return (
                store,
                {
                    do {
                        // A daemon that stops in order says goodbye.
                        for life in try await store.holders() where life.endedAt == nil {
                            try await store.leave(life.id, now: Samples.now)
                        }
                    } catch StoreError.closed {
                        // The test has closed it already.
                    }
                    await store.close()
                }
            )
        }
    }

    /// Closes a store without a goodbye.
    static func close(_ store: any JobStore) async {
        switch store {
        case let store as SQLiteJobStore: await store.close()
        case let store as PostgresJobStore: await store.close()
        default: Issue.record("unknown store")
        }
    }

    func remove() throws {
        guard case .server(let server, let url) = self else { return }
        try server.dropDatabase(url)
    }
}
