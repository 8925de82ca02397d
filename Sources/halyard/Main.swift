import Client
import Commands
import Glibc

@main
struct Main {
    static func main() {
        // libdispatch would write to the system log that it may not raise the priority of a thread, for every thread.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        let arguments = Array(CommandLine.arguments.dropFirst())
        ThreadLoop.run { exit(await HalyardCommandLine.run(arguments, in: .process).rawValue) }
    }
}
