import Foundation
import Jobs
import PostgresServer
import PostgresStore
import Testing

/// A store behind the connection pooler pgbouncer.
@Suite(
    .enabled(if: hasServer && Pooler.isInstalled, "PostgreSQL or pgbouncer is not installed"), .timeLimit(.minutes(2))
)
struct PoolerTests {
    private let now = Timestamp(milliseconds: 0)

    @Test func aPoolerInTransactionModeIsRefused() throws {
        let database = try TestDatabase()
        let pooler = try Pooler(before: database.url, mode: "transaction")
        for isBrief in [false, true] {
            var options = PostgresStoreOptions()
            options.isBrief = isBrief
            let error = #expect(throws: PostgresOpenError.self) {
                try PostgresJobStore.open(pooler.url, options: options)
            }
            guard case .pooled? = error else { throw Unexpected() }
        }
        let error = #expect(throws: PostgresOpenError.self) { try PostgresJobStore.check(pooler.url) }
        guard case .pooled? = error else { throw Unexpected() }
    }

    @Test func aPoolerInSessionModeIsUsed() async throws {
        let database = try TestDatabase()
        let pooler = try Pooler(before: database.url, mode: "session")
        let store = try PostgresJobStore.open(pooler.url)
        let (heard, sink) = AsyncStream.makeStream(of: Void.self)
        let observation = store.observe { if case .definitions = $0 { sink.yield() } }
        let other = try database.open()
        try await other.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        // A notification arrived through the pooler.
        var arrivals = heard.makeAsyncIterator()
        #expect(await arrivals.next() != nil)
        #expect(try await store.definitions().definitions.map(\.definition.name) == ["step"])
        observation.cancel()
        for store in [store, other] { await store.close() }
    }
}

/// A pgbouncer in front of a database, on a Unix socket in a folder of its own. It is killed with this object.
private final class Pooler {
    static let program = "/usr/sbin/pgbouncer"
    static var isInstalled: Bool { access(program, X_OK) == 0 }

    let url: String
    private let folder: URL
    private let process = Process()
    private let output = Pipe()

    /// - Parameter database: The URL of a database on a Unix socket.
    init(before database: String, mode: String) throws {
        let parts = try #require(URLComponents(string: database))
        let server = try #require(parts.queryItems?.first { $0.name == "host" }?.value)
        folder = URL(filePath: server + "/pooler-\(mode)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let owner = try FileManager.default.attributesOfItem(atPath: server)[.ownerAccountName] as? String
        let settings = """
            [databases]
            * = host=\(server) user=halyard
            [pgbouncer]
            unix_socket_dir = \(folder.path)
            listen_addr =
            listen_port = 5432
            auth_type = any
            pool_mode = \(mode)
            log_connections = 0
            log_disconnections = 0
            log_stats = 0
            """
        let file = folder.appending(path: "pgbouncer.ini")
        try Data(settings.utf8).write(to: file)
        // pgbouncer does not run as root.
        if let owner { try FileManager.default.setAttributes([.ownerAccountName: owner], ofItemAtPath: folder.path) }
        url = database.replacing(
            "host=" + (parts.percentEncodedQueryItems?.first { $0.name == "host" }?.value ?? ""),
            with: "host=" + folder.path.replacing("/", with: "%2F"))
        process.executableURL = URL(filePath: Self.program)
        process.arguments = (getuid() == 0 ? ["-u", owner ?? "postgres"] : []) + [file.path]
        process.standardInput = FileHandle.nullDevice
        process.standardError = output
        try process.run()
        var said = Data()
        while !said.contains("process up".utf8) {
            let more = output.fileHandleForReading.availableData
            try #require(!more.isEmpty, "pgbouncer ended: \(String(decoding: said, as: UTF8.self))")
            said += more
        }
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        // The server's folder is removed with the process.
        try? FileManager.default.removeItem(at: folder)
    }
}
