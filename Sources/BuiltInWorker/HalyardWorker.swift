import ControlProtocol
import Dispatch
import Glibc
import Jobs
import Kinds
import Web
import Worker
import WorkerProtocol

/// The worker of the kinds `upload`, `unfurl` and `enrich`: the program `halyard-worker`, which `halyardd` starts.
public enum HalyardWorker {
    /// How long the check of the folders may delay the start.
    private static let maxFolderCheck = DispatchTimeInterval.seconds(1)

    /// Runs the worker until the daemon ends it. Call it first in `main`, while the process has only one thread: the
    /// same program also parses documents, as a sandbox of its own worker.
    @MainActor public static func run() async -> Never {
        DocumentSandbox.runIfAsked()
        FileLimit.require()
        umask(0o027)
        // Otherwise libdispatch writes a log message for every thread whose priority it may not raise.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        await WorkerCommand.run(version: Version.current) { hello throws(RefusedSettings) in
            try kinds(for: hello.settings)
        }
    }

    private static func kinds(for settings: JSONText) throws(RefusedSettings) -> WorkerKinds {
        do throws(KindsSettings.Problems) {
            let settings = try KindsSettings(settings)
            let configuration = settings.configuration(version: Version.current, documents: .thisProgram)
            // The client lives as long as the process.
            let client = OutgoingClient(configuration.outgoing)
            let warnings = folderWarnings(settings) + [settings.trackingListSummary].compactMap(\.self)
            return WorkerKinds(builtInKinds(configuration, client: client), warnings: warnings)
        } catch {
            throw RefusedSettings(
                error.all.map {
                    SettingRefusal(key: $0.key, entry: $0.entry, message: $0.reason, errorNumber: $0.errorNumber)
                })
        }
    }

    /// Checks the folders on another thread, since one on an unresponsive server would block the start.
    private static func folderWarnings(_ settings: KindsSettings) -> [String] {
        let found = FolderWarnings()
        DispatchQueue.global().async { found.set(settings.warnings) }
        return found.wait(for: maxFolderCheck) ?? [
            "upload.roots: its folders did not answer within a second; jobs that need them wait until they do"
        ]
    }
}
