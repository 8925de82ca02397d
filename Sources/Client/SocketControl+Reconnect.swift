import ControlProtocol
import NIOCore

extension SocketControl {
    /// Waits until a daemon accepts connections on the socket. It tries again when the socket's folder changes,
    /// or once a second if the kernel cannot report changes of the folder.
    ///
    /// - Throws: `permission` if this user may not connect; `unavailable` if the task is cancelled.
    public func waitForDaemon() async throws(ControlProblem) {
        while true {
            // Watch before the first try, so that no change between the two is missed.
            let change = FolderChange(near: path)
            if try await listens() { return }
            if let change { await change.wait() } else { await pause(.seconds(1)) }
            if Task.isCancelled { throw ControlProblem(connecting: CancellationError(), to: path) }
        }
    }

    /// Tries to connect, several times within about 300 ms: a socket file may exist a moment before the daemon
    /// listens on it, and no change of the folder follows.
    private func listens() async throws(ControlProblem) -> Bool {
        for wait in [10, 20, 40, 80, 160] {
            do throws(ControlProblem) {
                try await connect()
                return true
            } catch {
                guard error.code == .noDaemon || error.code == .unavailable else { throw error }
            }
            await pause(.milliseconds(wait))
        }
        return false
    }

    private func pause(_ duration: Duration) async {
        try? await Task.sleep(for: duration, clock: .continuous)  // The caller checks for cancellation.
    }
}
