import Daemon
import Dispatch

@main
struct Main {
    @MainActor static func main() {
        DaemonCommand.requireRoomForFiles()
        // Runs on the main queue, and ends the process.
        Task { await DaemonCommand.start() }
        dispatchMain()
    }
}
