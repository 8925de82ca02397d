import Control
import NIOCore

extension SocketControl {
    /// Returns once a daemon listens on the socket; asks the kernel to tell, and looks once a second only where it does not.
    ///
    /// - Throws: `permission` when this user may not connect; `unavailable` when the task is cancelled.
    public func waitForDaemon() async throws(ControlProblem) {
        while true {
            // Heard from before the look, so that nothing falls between.
            let change = FolderChange(near: path)
            if try await listens() { return }
            if let change { await change.wait() } else { await pause(.seconds(1)) }
            if Task.isCancelled { throw ControlProblem(connecting: CancellationError(), to: path) }
        }
    }

    /// A socket file may be there a moment before it listens, which no change tells.
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
        try? await Task.sleep(for: duration, clock: .continuous)  // Cancelled: its caller looks at that.
    }
}
