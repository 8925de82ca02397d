import Glibc
import Programs
import Synchronization
import Testing

/// A daemon of a fleet: a home, a socket and a configuration of its own, and the database of the others.
final class FleetMember: Sendable {
    let name: String
    let folder: TemporaryFolder
    let notifications: NotificationListener
    private let launched = Mutex([ChildProcess]())

    var home: String { folder.path + "/home" }
    var socket: String { folder.path + "/halyard.sock" }

    /// - Parameters:
    ///   - lease: By default long enough that a busy machine does not end it.
    ///   - kinds: The kinds that the daemon serves; empty for all.
    ///   - more: Keys after the usual ones.
    init(
        _ name: String, of bed: TestBed, database: String, lease: String = "600s", kinds: [String] = [],
        _ more: String = ""
    ) throws {
        self.name = name
        folder = try TemporaryFolder()
        notifications = try NotificationListener(in: folder)
        try folder.write(
            """
            database: "\(database)"
            home: \(home)
            socket: \(socket)
            definitions: \(bed.folder.path)/definitions.yaml
            daemon: {name: \(name), lease: \(lease), kinds: [\(kinds.joined(separator: ", "))]}
            network:
              allow: ["127.0.0.1:\(bed.server.port)"]
              connect_timeout: 5m
              idle_timeout: 1h
            # A request that waits at the gate waits for the test.
            unfurl: {timeout: 1h, hop_timeout: 1h}
            \(more)
            """, to: "halyard.yaml")
    }

    deinit { for process in launched.withLock(\.self) { process.signal(SIGKILL) } }

    /// Starts the daemon, and returns when it is ready.
    func start(environment: [String: String] = [:]) async throws -> ChildProcess {
        let from = notifications.heard.all.count
        let daemon = try launch(environment: environment)
        let isReady = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.notifications.heard.first(from: from) { $0 == "READY=1" } != nil }
            group.addTask {
                _ = await daemon.waitForEnd()
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        try #require(isReady, "the daemon \(name) did not become ready: \(daemon.errors.text)")
        return daemon
    }

    func launch(environment: [String: String] = [:]) throws -> ChildProcess {
        var variables = ["NOTIFY_SOCKET": notifications.address, "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no"]
        variables.merge(environment) { _, new in new }
        let daemon = try ChildProcess(
            binary("halyardd"), ["--config", folder.path + "/halyard.yaml"], environment: variables)
        launched.withLock { $0.append(daemon) }
        return daemon
    }

    /// Runs `halyard` with this daemon's socket.
    @discardableResult
    func halyard(
        _ arguments: String..., expecting status: ChildProcess.End? = .exited(0)
    ) async throws -> (output: String, errors: String) {
        let result = try await ChildProcess.run(
            binary("halyard"), arguments, environment: ["HALYARD_SOCKET": socket, "TZ": "UTC"])
        if let status { #expect(result.status == status, "\(arguments): \(result.errors)") }
        return (result.output, result.errors)
    }
}
