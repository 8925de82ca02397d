import Client
import Commands
import Glibc

@main
struct Main {
    static func main() {
        // libdispatch would write to the system log that it may not raise the priority of a thread, for every thread.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        ThreadLoop.run { exit(await HalyardCommandLine.runProcess().rawValue) }
    }
}
