import Client
import Control
import Glibc

/// Finds the way to the jobs: the daemon's socket.
struct Connector {
    /// What the verb is about to do.
    enum Purpose { case reading, writing }

    private let socket: String

    init(_ options: CommonOptions, _ surroundings: Surroundings) {
        let paths = DefaultPaths(variable: surroundings.variable, exists: { access($0, F_OK) == 0 })
        socket = options.socket ?? paths.socket
    }

    /// A socket that systemd holds open counts as a daemon: connecting starts it.
    func open(_ purpose: Purpose) async throws -> Session {
        let control = SocketControl(path: socket)
        try await control.connect()
        return Session(control: control, place: .daemon(socket: socket), close: {})
    }
}
