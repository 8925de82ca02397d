import Glibc
import Programs
import Synchronization
import Testing

/// A folder, a web server, a service manager's ear and the real programs, for one test.
final class TestBed: Sendable {
    let folder: TemporaryFolder
    let server: WebServer
    let notifications: NotificationListener
    private let launched = Mutex([ChildProcess]())
    /// Nil if the database is a file.
    private let serverDatabase: ServerDatabase?

    var database: String { serverDatabase?.url ?? folder.path + "/halyard.db" }
    /// The folder of the daemon's own files.
    var home: String { serverDatabase == nil ? folder.path : folder.path + "/home" }
    var socket: String { folder.path + "/halyard.sock" }
    var configuration: String { folder.path + "/halyard.yaml" }

    static let definitions = """
        queues:
          network: {limit: 8}
        definitions:
          visit:
            kind: unfurl
            queue: network
            retry: {tries: 2, delay: constant, initial: 1h}
            input: {read_page: false}
          send:
            kind: upload
            queue: network
            retry: {tries: 1}
        graphs:
          visit-twice:
            parameters: {url: first.url, then: second.url}
            nodes:
              first: {definition: visit}
              second: {definition: visit, after: ["first:finished"]}
        """

    init() throws {
        folder = try TemporaryFolder()
        server = try WebServer()
        notifications = try NotificationListener(in: folder)
        serverDatabase = ServerDatabase.isWanted ? try ServerDatabase() : nil
        try folder.write(Self.definitions, to: "definitions.yaml")
        try configure()
    }

    /// A test that fails leaves nothing running.
    deinit {
        for process in launched.withLock({ $0 }) { process.signal(SIGKILL) }
        server.stop()
    }

    /// Writes the configuration anew, with more keys after the usual ones.
    func configure(_ more: String = "", allow: [String]? = nil) throws {
        let allowed = (allow ?? ["127.0.0.1:\(server.port)"]).map { "\"\($0)\"" }.joined(separator: ", ")
        // The long lease outlasts the delays of a busy machine.
        let server = serverDatabase == nil ? "" : "\nhome: \(home)\ndaemon: {lease: 600s}"
        try folder.write(
            """
            database: "\(database)"\(server)
            socket: \(socket)
            definitions: \(folder.path)/definitions.yaml
            network:
              allow: [\(allowed)]
              connect_timeout: 1m
            \(more)
            """, to: "halyard.yaml")
    }

    // MARK: The daemon

    func launch(_ arguments: [String] = [], environment: [String: String] = [:]) throws -> ChildProcess {
        var variables = ["NOTIFY_SOCKET": notifications.address, "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no"]
        variables.merge(environment) { _, new in new }
        return try spawn(binary("halyardd"), ["--config", configuration] + arguments, environment: variables)
    }

    func spawn(
        _ program: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> ChildProcess {
        let process = try ChildProcess(program, arguments, environment: environment)
        launched.withLock { $0.append(process) }
        return process
    }

    /// Runs `body` with a daemon that is ready; whatever happens, the daemon is gone afterwards.
    @discardableResult
    func withDaemon<T>(
        _ arguments: [String] = [], environment: [String: String] = [:], _ body: (ChildProcess) async throws -> T
    ) async throws -> T {
        let from = notifications.heard.all.count
        let daemon = try launch(arguments, environment: environment)
        do {
            try await waitUntilReady(daemon, from: from)
            let value = try await body(daemon)
            await daemon.stop()
            return value
        } catch {
            await daemon.stop()
            throw error
        }
    }

    /// - Parameter from: How many notifications were heard before it was launched.
    func waitUntilReady(_ daemon: ChildProcess, from: Int = 0) async throws {
        // Either it is ready, or it ended and the test learns why.
        let ready = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.notifications.heard.first(from: from) { $0 == "READY=1" } != nil }
            group.addTask {
                _ = await daemon.waitForEnd()
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        try #require(ready, "the daemon did not become ready: \(daemon.errors.text)")
    }

    // MARK: The command line

    @discardableResult
    func halyard(_ arguments: String...) async throws -> (status: ChildProcess.End?, output: String, errors: String) {
        try await ChildProcess.run(
            binary("halyard"), arguments,
            environment: ["HALYARD_SOCKET": socket, "HALYARD_DATABASE": database, "TZ": "UTC"])
    }

    /// Enqueues and expects success.
    @discardableResult
    func enqueue(_ arguments: String...) async throws -> String {
        let result = try await ChildProcess.run(
            binary("halyard"), ["enqueue"] + arguments,
            environment: ["HALYARD_SOCKET": socket, "HALYARD_DATABASE": database, "TZ": "UTC"])
        try #require(result.status == .exited(0), "halyard enqueue: \(result.errors)")
        return result.output
    }

    /// Enqueues one visit for each path, as JSON lines.
    func enqueueVisits(_ paths: some Sequence<String>) async throws {
        let lines = paths.map { "{\"definition\": \"visit\", \"input\": {\"url\": \"\(server.site)\($0)\"}}\n" }
        try folder.write(lines.joined(), to: "visits.jsonl")
        try await enqueue("--lines", folder.path + "/visits.jsonl")
    }

    /// Waits until every job that is stored is final, whatever its outcome.
    func waitForAllJobs() async throws {
        let jobs = try await ask("SELECT id FROM job").split(separator: "\n").map(String.init)
        let waited = try await ChildProcess.run(
            binary("halyard"), ["wait"] + jobs, environment: ["HALYARD_SOCKET": socket, "TZ": "UTC"])
        guard case .exited(0...3) = waited.status else {
            Issue.record("halyard wait: \(waited)")
            return
        }
    }

    // MARK: What is stored

    /// Asks the database through `sqlite3` or `psql`, as a person would.
    func ask(_ query: String) async throws -> String {
        if let serverDatabase { return try await serverDatabase.ask(query) }
        return try await sqlite3("-readonly", query)
    }

    /// Changes the database while no daemon runs.
    func change(_ statement: String) async throws {
        if let serverDatabase { _ = try await serverDatabase.ask(statement) } else { _ = try await sqlite3(statement) }
    }

    private func sqlite3(_ arguments: String...) async throws -> String {
        let options = arguments.dropLast() + ["-cmd", ".timeout 5000", database]
        let answer = try await ChildProcess.run("sqlite3", options + arguments.suffix(1))
        try #require(answer.status == .exited(0), "sqlite3: \(answer.errors)")
        return answer.output
    }
}
