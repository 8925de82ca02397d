import Daemon

@main
struct Main {
    @MainActor static func main() async {
        DaemonCommand.requireRoomForFiles()
        // Still on the process's first thread: a sandbox has no other.
        await DaemonCommand.start()
    }
}
