import CLinux
import Glibc
import Jobs
import Logging
import OperationTypes
import Processes
import Synchronization

/// Runs the programs of definitions of the kind `program`, each attempt in a process of its own.
///
/// The definition chooses the executable and its arguments; the input of a job only supplies values. The executable must
/// lie beneath one of ``ProgramSettings/roots``, and only root and this process's user may be able to change it.
public final class ProgramHost: KindHost {
    private struct Core {
        var settings: ProgramSettings
        var files: (any ProgramFiles)?
        var attempts: [Lease: ProgramAttempt] = [:]
        /// The threads that have not ended.
        var threads = 0
        /// Locks the folder of the work folders; -1 before ``prepare(adoptsOrphans:)``.
        var lock: Int32 = -1
        var isClosed = false
    }

    let logger: Logger
    private let groups: CgroupRoot?
    private let core: Mutex<Core>
    private let roomObserver = Mutex<(@Sendable () -> Void)?>(nil)
    private let empty = Latch<Void>()

    /// The maximum number of attempts at once. The runner's own limits are usually lower.
    private static let maxAttempts = 10_000

    /// Creates a host. It runs nothing before ``prepare(adoptsOrphans:)``.
    ///
    /// - Parameters:
    ///   - files: The place of logs and result files; nil if none are kept.
    ///   - groups: The cgroup below which each attempt gets one of its own; nil for none.
    public init(
        _ settings: ProgramSettings, files: (any ProgramFiles)? = nil, groups: CgroupRoot? = nil, logger: Logger
    ) {
        self.logger = logger
        self.groups = groups
        core = Mutex(Core(settings: settings, files: files))
    }

    /// The kind `program`, without the fields that definitions add.
    public static let description = KindDescription(
        name: ProgramDefinition.kind, summary: "Run a program that the definition names", inputType: "Program.Input",
        outputType: "Program.Output", accepts: "[AnyOutput]", offers: "Program.Output", fields: [])

    /// Removes the work folders that a killed daemon has left, and kills its programs' processes. Call it once, before
    /// the first attempt, while no other daemon uses the folder. It blocks on the disk.
    ///
    /// - Parameter adoptsOrphans: Whether to kill processes that leave their program's tree; see ``Orphans/adopt()``.
    /// - Throws: The reason why the folder cannot be used. Folders and processes that remain are only logged.
    package func prepare(adoptsOrphans: Bool) throws(FileFailure) {
        let folder = core.withLock(\.settings.folder)
        if mkdir(folder, 0o700) != 0, errno != EEXIST { throw FileFailure("create", folder) }
        let lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0 else { throw FileFailure("open", folder) }
        var facts = stat()
        guard fstat(lock, &facts) == 0, facts.st_uid == geteuid(), facts.st_mode & 0o022 == 0 else {
            Glibc.close(lock)
            throw FileFailure("use a folder that other users may write to:", folder, EPERM)
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            Glibc.close(lock)
            throw FileFailure(
                "use the folder of another daemon (set program.directory in one of them):", folder, code)
        }
        core.withLock { $0.lock = lock }
        removeLeftovers(in: folder)
        if adoptsOrphans { Orphans.adopt() }
    }

    /// A leftover that remains must not keep the daemon from starting: an attempt that needs its name tries to remove it
    /// again.
    private func removeLeftovers(in folder: String) {
        let (killed, left) = LeftoverProcesses(root: folder).kill()
        if killed > 0 { logger.notice("killed \(killed) processes of programs that an earlier daemon left running") }
        if !left.isEmpty {
            logger.error("programs of an earlier daemon left processes that are still running; end them: \(left)")
        }
        do throws(FileFailure) {
            let removal = try FolderRemoval(in: folder)
            try removal.removeAll { logger.error("a work folder of an earlier daemon remains: \($0)") }
        } catch {
            logger.error("the work folders of an earlier daemon remain: \(error)")
        }
    }

    /// Uses other settings for attempts that begin later. The folder stays the same.
    public func use(_ settings: ProgramSettings) { core.withLock { $0.settings.roots = settings.roots } }

    /// Keeps the logs and result files of attempts that begin later.
    public func keep(in files: any ProgramFiles) { core.withLock { $0.files = files } }

    var roots: [String] { core.withLock(\.settings.roots) }

    /// The folder of the work folders, and the folder in which result files are kept; nil if none are kept.
    var places: (work: String, files: String?) { core.withLock { ($0.settings.folder, $0.files?.folder) } }

    // MARK: Attempts

    public func run(_ attempt: HostedAttempt) {
        let lease = attempt.lease
        let running = core.withLock { core -> ProgramAttempt? in
            if core.isClosed || core.lock < 0 { return nil }
            let place = ProgramAttempt.Place(
                roots: core.settings.roots, folder: core.settings.folder, spool: core.settings.spool,
                files: core.files, groups: groups,
                warn: { [logger] in
                    logger.warning(
                        "job \(lease.job): \($0)", metadata: ["HALYARD_JOB": "\(lease.job)"])
                })
            let running = ProgramAttempt(attempt, in: place)
            core.attempts[lease] = running
            core.threads += 1
            return running
        }
        guard let running else { return attempt.onEnd(.notRun) }
        let code = startThread { [self] in
            running.run()
            ended(lease)
        }
        if code == 0 { return }
        ended(lease)
        attempt.onEnd(
            .failed(ProgramFailure.notStarted("no thread could be created (\(String(cString: strerror(code))))")))
    }

    private func ended(_ lease: Lease) {
        let isEmpty = core.withLock { core in
            core.attempts[lease] = nil
            core.threads -= 1
            return core.isClosed && core.threads == 0
        }
        if isEmpty { empty.open() }
    }

    /// Does nothing: every attempt begins at once.
    public func flush() {}

    public func stop(_ lease: Lease, _ reason: HostedStop) { core.withLock { $0.attempts[lease] }?.stop() }

    public func abandon(_ lease: Lease, after grace: Duration) {
        core.withLock { $0.attempts[lease] }?.abandon(after: grace)
    }

    public func recorded(_ lease: Lease, kind: String) {}

    public var room: Int { core.withLock { max(0, Self.maxAttempts - $0.threads) } }

    /// Nil, since every attempt is alone in its process.
    public var roomForSuspects: Int? { nil }

    public var problem: String? { nil }

    public func observeRoom(_ body: @escaping @Sendable () -> Void) { roomObserver.withLock { $0 = body } }

    public func cleanUp(
        asking state: @escaping @Sendable (JobID, _ kind: String) async throws(StoreError) -> JobState?
    ) async -> Bool { false }

    /// Kills all programs and waits until they have ended and their folders are removed. Later attempts do not run.
    public func close() async {
        let (left, lock) = core.withLock { core in
            core.isClosed = true
            defer { core.lock = -1 }
            return (Array(core.attempts.values), core.lock)
        }
        for attempt in left { attempt.abandon() }
        let isEmpty = core.withLock { $0.threads == 0 }
        if isEmpty { empty.open() }
        await empty.uncancellableWait()
        if lock >= 0 { Glibc.close(lock) }
    }
}

/// The settings of the kind `program`.
public struct ProgramSettings: Sendable, Hashable {
    /// The folders that contain the executables that definitions may run. Default: none.
    public var roots: [String]
    /// The folder of the attempts' work folders, which only this host uses.
    public var folder: String
    /// The folder of the files that callers sent; nil if there is none.
    public var spool: String?

    /// Creates settings.
    public init(roots: [String] = [], folder: String, spool: String? = nil) {
        self.roots = roots
        self.folder = folder
        self.spool = spool
    }
}
