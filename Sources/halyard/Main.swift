import Commands
import Glibc

@main
struct Main {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(await HalyardCommandLine.run(arguments, in: .process).rawValue)
    }
}
