import Glibc
import Jobs
import Synchronization

/// The files that the daemon keeps with jobs: the logs of their attempts, and the files that are their results.
///
/// All functions block on the disk, so call them on a dedicated thread. Only one process at a time may write: the holder
/// of the database's lock. Others may read.
public final class JobFiles: Sendable {
    /// The folder of all files. It is created with the first file.
    public let folder: String
    let places: Places
    let now: @Sendable () -> Timestamp
    private let state = Mutex(State())
    let loans = Mutex<[Lease: Loan]>([:])

    private struct State {
        /// The logs that are being written by this process, with their sizes.
        var live: [Lease: LogSize] = [:]
        var observers: [JobID: [Int: @Sendable () -> Void]] = [:]
        var nextObserver = 0
        /// The jobs that kept a file, since the start or before it, until they are settled.
        var unsettled: Set<JobID> = []
    }

    /// The limit of a log for an attempt whose definition sets none, in bytes.
    public static let defaultLogLimit = 4 << 20

    /// - Parameter now: Returns the wall-clock time, which is stored with each line of a log.
    public init(folder: String, now: @escaping @Sendable () -> Timestamp = wallClock) {
        self.folder = folder
        places = Places(folder: folder)
        self.now = now
    }

    /// The files of the jobs of a database: in the folder `files` next to it.
    public convenience init(
        nextTo database: String, now: @escaping @Sendable () -> Timestamp = JobFiles.wallClock
    ) {
        self.init(folder: Self.folder(nextTo: database), now: now)
    }

    /// The folder of the files of a database's jobs.
    public static func folder(nextTo database: String) -> String {
        guard let slash = database.lastIndex(of: "/") else { return "files" }
        return database[...slash] + "files"
    }

    // MARK: Logs

    /// Begins the log of an attempt. If the attempt has a log already, its content is removed.
    ///
    /// - Parameters:
    ///   - limit: The size in bytes beyond which the middle of the log is removed; at least 4096.
    ///   - onLines: Receives the lines for the daemon's own log, on the thread that appends: without hidden characters,
    ///     cut after 4096 bytes, and at most 100 each second, with a line that counts the others.
    /// - Throws: ``JobFilesError``. Retrying is safe, and so is running the attempt without a log.
    public func beginLog(
        of lease: Lease, limit: Int = JobFiles.defaultLogLimit, onLines: (@Sendable ([JournalLine]) -> Void)? = nil
    ) throws(JobFilesError) -> AttemptLog {
        try places.makeFolder(of: lease.job)
        for number in try places.segments(of: lease) { try Folder.unlinkFile(places.segment(number, of: lease)) }
        // The log is live before its file exists: a reader that finds an open log which is not live reports it as
        // interrupted.
        state.withLock { $0.live[lease] = LogSize() }
        let writer: LogWriter
        do throws(JobFilesError) {
            writer = try LogWriter(places, lease, limit: limit, now: now())
        } catch {
            end(lease)
            throw error
        }
        wake(lease.job)
        return AttemptLog(writer, of: lease, in: self, onLines: onLines)
    }

    /// Whether this process is writing the attempt's log.
    public func isLive(_ lease: Lease) -> Bool { liveSize(of: lease) != nil }

    /// The size of a log that this process is writing; nil for any other log.
    func liveSize(of lease: Lease) -> LogSize? { state.withLock { $0.live[lease] } }

    /// Calls `wake` whenever a log of the job begins, grows or ends, until the observation is cancelled or released. `wake`
    /// runs on the thread that writes, and must return at once.
    public func observe(_ job: JobID, _ wake: @escaping @Sendable () -> Void) -> StoreObservation {
        let number = state.withLock { state in
            state.nextObserver += 1
            state.observers[job, default: [:]][state.nextObserver] = wake
            return state.nextObserver
        }
        return StoreObservation { [weak self] in
            self?.state.withLock { state in
                state.observers[job]?[number] = nil
                if state.observers[job]?.isEmpty == true { state.observers[job] = nil }
            }
        }
    }

    /// Whether the job kept a file and is not settled yet. Reads no file. A job that kept its file before the start counts
    /// once ``recoverUnsettledJobs()`` was called.
    public func isUnsettled(_ job: JobID) -> Bool { state.withLock { $0.unsettled.contains(job) } }

    func setUnsettled(_ job: JobID, _ isUnsettled: Bool) {
        state.withLock { state in
            if isUnsettled { state.unsettled.insert(job) } else { state.unsettled.remove(job) }
        }
    }

    func wake(_ job: JobID) {
        let observers = state.withLock { $0.observers[job] }
        observers?.values.forEach { $0() }
    }

    /// Notes the size of a live log, and wakes the job's observers.
    func grow(_ lease: Lease, to size: LogSize) {
        state.withLock { state in
            // Another thread may have noted a greater size, or the end.
            if let known = state.live[lease], known.bytes < size.bytes { state.live[lease] = size }
        }
        wake(lease.job)
    }

    func end(_ lease: Lease) {
        state.withLock { $0.live[lease] = nil }
        wake(lease.job)
    }

    /// The time of `CLOCK_REALTIME`.
    @Sendable public static func wallClock() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
