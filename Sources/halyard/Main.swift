import Commands
import Glibc

@main
struct Main {
    static func main() async {
        // libdispatch would write to the system log that it may not raise the priority of a thread, for every thread.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(await HalyardCommandLine.run(arguments, in: .process).rawValue)
    }
}
