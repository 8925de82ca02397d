import Daemon

@main
struct Main {
    @MainActor static func main() async {
        await DaemonCommand.start()
    }
}
