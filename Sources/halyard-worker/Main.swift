import BuiltInWorker

@main
struct Main {
    // The call stays on the process's first thread, since a sandbox process has no other.
    @MainActor static func main() async { await HalyardWorker.run() }
}
