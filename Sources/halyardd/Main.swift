import Daemon

@main
struct Main {
    @MainActor static func main() async {
        DaemonCommand.requireRoomForFiles()
        // The call stays on the process's first thread, since a sandbox process has no other.
        await DaemonCommand.start()
    }
}
