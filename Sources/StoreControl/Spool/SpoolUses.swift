import Jobs

/// Tracks which jobs and requests need which files of the spool.
///
/// 1. A file is needed while a request that names it is in progress, or while a job that names it is open or has
///    ended without success: such a job can be retried, and its file may be the only copy. The need ends when the
///    job succeeds or is pruned.
/// 2. No job or request may start to use a file that is being removed.
struct SpoolUses {
    private struct Use {
        var open: Set<JobID> = []
        /// Jobs that failed, were cancelled or were skipped.
        var unsuccessful: Set<JobID> = []
        var requests = 0
        /// Whether a job ever named the file: a job of its own request, or of the earlier request that its
        /// request repeats. A file that no job ever named is kept for a day.
        var hadJob = false

        var isOver: Bool { open.isEmpty && unsuccessful.isEmpty && requests == 0 }
        var isKeptForRetry: Bool { open.isEmpty && requests == 0 && !unsuccessful.isEmpty }
    }

    private var uses: [SpoolName: Use] = [:]
    private var filesOfJob: [JobID: [SpoolName]] = [:]
    private var unsuccessful: Set<JobID> = []
    private var leaving: Set<SpoolName> = []
    /// Whether jobs that are unknown here may need a file. A file is then removed only by ``leave(_:)``, after another look.
    private let mayMissJobs: Bool
    /// The last unknown jobs that have ended, while ``mayMissJobs``: their acceptance may be reported later.
    private var endedEarly: [(job: JobID, isSuccess: Bool)] = []
    private var nextEndedEarly = 0
    private static let maxEndedEarly = 4000

    init(mayMissJobs: Bool = false) { self.mayMissJobs = mayMissJobs }

    func isLeaving(_ file: SpoolName) -> Bool { leaving.contains(file) }

    /// Files that are needed only by jobs that ended without success.
    var keptForRetry: [SpoolName] { uses.filter(\.value.isKeptForRetry).map(\.key) }

    /// All known jobs that name a file.
    var jobs: Set<JobID> { Set(filesOfJob.keys) }

    /// Jobs that name a file and ended without success.
    var unsuccessfulJobs: Set<JobID> { unsuccessful }

    mutating func begin(_ files: [SpoolName]) {
        for file in files { uses[file, default: Use()].requests += 1 }
    }

    /// - Returns: The files to remove.
    mutating func end(_ files: [SpoolName], isDuplicate: Bool) -> [SpoolName] {
        files.filter { file in
            uses[file]?.requests -= 1
            if isDuplicate { uses[file]?.hadJob = true }
            return isOver(file)
        }
    }

    /// Adds new jobs before it ends others, so that a child keeps the file of the job that enqueued it and ended in
    /// the same commit.
    ///
    /// - Returns: The files to remove.
    mutating func follow(
        added: [(job: JobID, files: [SpoolName])], ended: some Sequence<(job: JobID, isSuccess: Bool)>
    ) -> [SpoolName] {
        var over: [SpoolName] = []
        for (job, files) in added {
            add(job, files)
            if let early = endedEarly.last(where: { $0.job == job }) { over += end(job, isSuccess: early.isSuccess) }
        }
        if filesOfJob.isEmpty && !mayMissJobs { return over }
        for (job, isSuccess) in ended {
            if filesOfJob[job] != nil {
                over += end(job, isSuccess: isSuccess)
            } else if mayMissJobs {
                noteEarlyEnd(job, isSuccess)
            }
        }
        return over
    }

    private mutating func end(_ job: JobID, isSuccess: Bool) -> [SpoolName] {
        if isSuccess { return remove(job) }
        keepForRetry(job)
        return []
    }

    private mutating func noteEarlyEnd(_ job: JobID, _ isSuccess: Bool) {
        if endedEarly.count < Self.maxEndedEarly {
            endedEarly.append((job, isSuccess))
        } else {
            endedEarly[nextEndedEarly] = (job, isSuccess)
            nextEndedEarly = (nextEndedEarly + 1) % Self.maxEndedEarly
        }
    }

    mutating func add(_ job: JobID, _ files: [SpoolName]) {
        filesOfJob[job] = files
        for file in files {
            uses[file, default: Use()].open.insert(job)
            uses[file]?.hadJob = true
        }
    }

    mutating func keepForRetry(_ job: JobID) {
        guard let files = filesOfJob[job] else { return }
        unsuccessful.insert(job)
        for file in files {
            uses[file]?.open.remove(job)
            uses[file]?.unsuccessful.insert(job)
        }
    }

    /// - Returns: The files to remove.
    mutating func remove(_ job: JobID) -> [SpoolName] {
        guard let files = filesOfJob.removeValue(forKey: job) else { return [] }
        unsuccessful.remove(job)
        return files.filter { file in
            uses[file]?.open.remove(job)
            uses[file]?.unsuccessful.remove(job)
            return isOver(file)
        }
    }

    /// The files that no known job or request needs and that are not being removed yet.
    func unneeded(among files: [SpoolName]) -> [SpoolName] {
        files.filter { uses[$0] == nil && !leaving.contains($0) }
    }

    /// - Returns: The files that nothing needs and that are not being removed yet.
    mutating func leave(_ files: [SpoolName]) -> [SpoolName] {
        files.filter { uses[$0] == nil && leaving.insert($0).inserted }
    }

    mutating func hasLeft(_ file: SpoolName) { leaving.remove(file) }

    private mutating func isOver(_ file: SpoolName) -> Bool {
        guard let use = uses[file], use.isOver else { return false }
        uses[file] = nil
        if use.hadJob, !mayMissJobs { leaving.insert(file) }
        return use.hadJob
    }
}
