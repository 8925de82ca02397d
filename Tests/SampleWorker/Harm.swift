import Glibc
import Jobs
import OperationTypes

/// Does harm to its own process, in the way that a test chooses.
struct Harm: Kind {
    struct Input: Codable {
        var action: String
        /// How much of it.
        var number: Int?
        /// The file for which `hold` waits. Before, it writes a line to the pipe beside it.
        var path: String?
    }
    typealias Output = JSONText
    typealias Failure = ChosenFailure

    static let name = "harm"
    static let summary = "Harms its own process"
    static let inputFields = [
        InputField("action", .string, isRequired: true, summary: "the harm"),
        InputField("number", .integer, summary: "how much"), InputField("path", .string, summary: "a file"),
    ]
    static let checksInputs = false
    static let cleansUp = false

    func run(_ input: Input, context: OperationContext) async throws(ChosenFailure) -> JSONText {
        let number = input.number ?? 0
        switch input.action {
        case "trap": fatalError("a test asked for this")
        case "segfault": raise(SIGSEGV)
        case "exit": exit(3)
        case "kill": raise(SIGKILL)
        case "stop": raise(SIGSTOP)
        case "loop": while clock() >= 0 {}
        case "memory":
            for _ in 0..<number {
                guard let part = malloc(1 << 20) else { fatalError("no more memory") }
                memset(part, 1, 1 << 20)
            }
        case "descriptors":
            for opened in 0..<number where open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 {
                throw ChosenFailure(code: "no_descriptor", description: "after \(opened): \(errno)")
            }
        case "processes": Self.startProcesses(number, named: input.path ?? "")
        case "hold":
            let pipe = open((input.path ?? "") + ".pipe", O_WRONLY | O_CLOEXEC)
            _ = write(pipe, "holding\n", 8)
            close(pipe)
            while access(input.path ?? "", F_OK) != 0 {
                // Cancelled attempts end as well.
                guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { break }
            }
        default: throw ChosenFailure(code: "unknown_action", description: input.action)
        }
        return .null
    }

    /// Starts processes until it cannot, and then exits.
    private static func startProcesses(_ number: Int, named mark: String) {
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("1000"), nil]
        var variables: [UnsafeMutablePointer<CChar>?] = [strdup("MARK=\(mark)"), nil]
        var started = 0
        while started < number, posix_spawn(nil, "/bin/sleep", nil, nil, &arguments, &variables) == 0 { started += 1 }
        log("started \(started) processes")
        exit(started == number ? 0 : 4)
    }

    private static func log(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
