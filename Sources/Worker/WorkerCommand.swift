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
/// | 1 | The daemon closed its input while an attempt ran, or an attempt did not stop within 5 seconds after an invalid message. |
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
            Log.write(Usage.text)
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
}
