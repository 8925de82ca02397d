import Glibc
import Jobs
import OperationTypes
import WorkerProtocol

/// The main program of a worker.
///
/// ```swift
/// @main struct Main {
///     static func main() async { await WorkerCommand.run([Greet()]) }
/// }
/// ```
///
/// The daemon starts the program and sends messages to its standard input; see ``WorkerProtocol``. Standard error is the
/// worker's log. While the worker runs, descriptor 0 is empty and descriptor 1 leads to standard error, so that a kind
/// may print. The signal SIGPIPE is ignored.
///
/// | exit status | meaning |
/// | --- | --- |
/// | 0 | The daemon asked the worker to drain, or closed its input, and all attempts have ended. |
/// | 1 | The daemon closed its input, and an attempt did not stop within 5 seconds. |
/// | 64 | The program was not started by a daemon. |
/// | 70 | The kinds cannot be registered; see ``KindRegistryProblem``. |
/// | 71 | The operating system refused a descriptor or a thread. |
/// | 76 | The daemon sent an invalid message, or speaks another version of the protocol. |
/// | 78 | The settings are invalid. The daemon has received the reasons. |
public enum WorkerCommand {
    /// Runs these kinds until the daemon ends the worker.
    ///
    /// - Parameter version: The version of the program, for people. Default: none.
    public static func run(_ kinds: [any Kind], version: String? = nil) async -> Never {
        await run(version: version) { _ in WorkerKinds(kinds) }
    }

    /// Runs kinds that depend on the administrator's settings until the daemon ends the worker.
    ///
    /// - Parameters:
    ///   - version: The version of the program, for people. Default: none.
    ///   - makeKinds: Creates the kinds from ``Hello/settings``. It is called once and may block.
    public static func run(
        version: String? = nil,
        _ makeKinds: @escaping @Sendable (Hello) throws(RefusedSettings) -> WorkerKinds
    ) async -> Never {
        signal(SIGPIPE, SIG_IGN)
        if isatty(0) == 1 {
            Log.write(usage)
            exit(ExitStatus.usage)
        }
        let ended = Latch<Int32>()
        let writer: MessageWriter
        do {
            let channels = try ProcessChannels.open()
            writer = MessageWriter(channels.output)
            try startThread(named: "halyard-read") {
                Conversation(version: version, writer: writer, ended: ended, makeKinds).run(reading: channels.input)
            }
        } catch {
            Log.write("\(error)")
            exit(ExitStatus.system)
        }
        let status = await ended.uncancellableWait()
        await writer.waitUntilWritten()
        exit(status)
    }

    static var usage: String {
        let program = CommandLine.arguments.first ?? "this program"
        return
            "\(program) runs jobs for halyardd and cannot be used alone; name it under `workers` in halyard.yaml, or check it with: halyard workers test -- \(program)"
    }
}

/// The kinds of a worker.
public struct WorkerKinds: Sendable {
    /// The kinds.
    public var kinds: [any Kind]
    /// Findings about the settings that do not prevent the start, as sentences for people.
    public var warnings: [String]

    /// Creates a list of kinds. Default: no warnings.
    public init(_ kinds: [any Kind], warnings: [String] = []) {
        self.kinds = kinds
        self.warnings = warnings
    }
}

/// The settings that a worker refuses, with the reasons.
public struct RefusedSettings: Error {
    /// At least one refusal.
    public var refusals: [SettingRefusal]

    /// Creates an error.
    public init(_ refusals: [SettingRefusal]) { self.refusals = refusals }
}
