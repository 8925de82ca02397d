import Foundation
import PostgreSQL
import Synchronization

/// A PostgreSQL server for tests. It ends with the process: its script reads from a pipe that the kernel closes then.
public final class PostgresServer: Sendable {
    /// The URL of the server's own database.
    public let url: String
    private let count = Atomic(0)
    private let script: Mutex<Script>

    /// The server that all tests of the process use; nil if PostgreSQL is not installed.
    public static let shared: PostgresServer? = PostgresServer()

    /// Starts a server; nil if PostgreSQL is not installed.
    public init?() {
        guard let script = Script(), let url = script.readLine() else { return nil }
        self.url = url
        self.script = Mutex(script)
    }

    /// Kills the server, as a crash does, and starts it again. Returns when it accepts connections.
    public func crash() {
        script.withLock { script in
            script.write("crash\n")
            _ = script.readLine()
        }
    }

    /// Freezes the processes that serve a database, and the one that accepts connections: they answer nothing, and close
    /// no connection, until they are thawed.
    public func freeze(_ database: String) throws -> FrozenProcesses {
        let found = try Connection(to: database).run(
            """
            SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            UNION ALL
            SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)
            """)
        return FrozenProcesses(found.map { pid_t($0.string(0)) }.compactMap(\.self))
    }

    /// Ends all connections, and refuses new ones until ``IsolatedServer/rejoin()``.
    public func isolate() throws -> IsolatedServer {
        let connection = try Connection(to: url)
        let isolated = IsolatedServer(folder: try connection.run("SHOW unix_socket_directories")[0].string(0))
        try connection.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE  backend_type = 'client backend' AND pid <> pg_backend_pid()
            """)
        return isolated
    }

    /// Creates an empty database.
    ///
    /// - Returns: Its URL.
    public func makeDatabase() throws -> String {
        let name = "test_\(getpid())_\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
        try Connection(to: url).run("CREATE DATABASE \(name)")
        return url.replacingOccurrences(of: "/postgres?", with: "/\(name)?")
    }

    /// Removes a database, even if connections to it are left.
    public func dropDatabase(_ database: String) throws {
        guard let name = database.split(separator: "?")[0].split(separator: "/").last else { return }
        try Connection(to: url).run("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }
}

/// Processes that stay stopped until ``thaw()``, or until this object is released.
public final class FrozenProcesses: Sendable {
    private let processes: [pid_t]

    fileprivate init(_ processes: [pid_t]) {
        self.processes = processes
        for process in processes { kill(process, SIGSTOP) }
    }

    deinit { thaw() }

    /// Resumes the processes.
    public func thaw() { for process in processes { kill(process, SIGCONT) } }
}

/// A server that is unreachable until ``rejoin()``, since its socket has another name.
public struct IsolatedServer: Sendable {
    private let socket: String
    private var hidden: String { socket + ".hidden" }

    fileprivate init(folder: String) {
        socket = folder + "/.s.PGSQL.5432"
        rename(socket, hidden)
    }

    /// Makes the server reachable again.
    public func rejoin() { rename(hidden, socket) }
}

/// The script that runs the server.
private struct Script {
    private let process = Process()
    /// Kept open until the server's end, which closing it causes.
    private let input = Pipe()
    private let output = Pipe()

    init?() {
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        process.executableURL = repository.appendingPathComponent("scripts/test.d/postgres")
        process.standardInput = input
        process.standardOutput = output
        // The tests that need the server are skipped then.
        guard (try? process.run()) != nil else { return nil }
    }

    /// Reads a line; nil if the script has ended.
    func readLine() -> String? {
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n") {
            let byte = output.fileHandleForReading.readData(ofLength: 1)
            if byte.isEmpty { return nil }
            line += byte
        }
        return String(decoding: line.dropLast(), as: UTF8.self)
    }

    func write(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }
}
