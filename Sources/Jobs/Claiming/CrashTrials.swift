/// Finds out which of the running jobs crashes the process, by running the suspects apart from other jobs.
///
/// A crash proves only that one of the running jobs is to blame, so it counts against a job only if no other job was
/// running. The next start puts every job on trial that was running in several crashes in a row:
///
/// - I1: After the first crash, no job is put on trial: killing the process once does not affect its jobs.
/// - I2: After the second crash in a row, at most ``Trial/firstCompany`` jobs are on trial at once; after every further
///   crash, only one.
/// - I3: Trials come before every other job, and no other job starts while a trial is pending or in progress. A claim
///   that wants no suspects (``ClaimRequest/suspects``) leaves the pending trials out.
/// - I4: A trial ends with its attempt, or after a limit that doubles with every further crash. A job that outlasts its
///   limit keeps running and no longer prevents others from starting. Trials whose jobs other transactions have locked are
///   postponed for at most ``maxPostponement``, and then skipped until a trial begins.
/// - I5: The job that started last is tried first. Either it was on trial when the process crashed, or it is the most
///   likely cause. After the third crash the first trial runs alone, so a further crash proves that its job is the
///   cause.
///
/// A job that was the only one running in a crash certainly caused it, and only such crashes count towards the limit of
/// rescues (``LastEnd``). If a job crashes the process within a time T after its start, it runs alone after at most 4
/// crashes, plus one for each doubling of T beyond the ``Trial/limit`` after three crashes (30 s).
///
/// Times are measured on the store's steady scale, so setting the wall clock neither ends nor extends a trial.
public struct CrashTrials: Sendable {
    /// The trial of one job.
    public struct Trial: Sendable, Hashable {
        /// The maximum number of jobs on trial at once after the second crash in a row.
        public static let firstCompany = 16
        fileprivate static let firstLimit = Duration.seconds(15)

        /// The job on trial.
        public let job: JobID
        /// The maximum number of jobs that may be on trial together with this one, including itself.
        public let company: Int
        /// The longest duration of the trial: 15 s after two crashes in a row, 30 s after three, and so on.
        public let limit: Duration

        /// Creates the trial of a job.
        ///
        /// - Parameter crashes: The number of crashes in a row during which the job was running, up to the last one.
        /// - Returns: Nil if the job needs no trial, because there were fewer than two.
        public init?(of job: JobID, afterCrashes crashes: Int) {
            if crashes < 2 { return nil }
            self.job = job
            // I2
            company = crashes == 2 ? Self.firstCompany : 1
            // I4
            limit = Self.firstLimit * (1 << min(crashes - 2, 16))
        }
    }

    private struct UnderWay {
        let company: Int
        let startedAt: Timestamp
        let limit: Duration

        var endsAt: Timestamp { startedAt + limit }
    }

    /// The pending trials in reverse order, so that removing the next one is cheap.
    private var pending: [Trial] = []
    private var underWay: [JobID: UnderWay] = [:]
    /// Since when trials have been postponed, and when one was postponed last.
    private var postponed: (since: Timestamp, last: Timestamp)?

    /// How long trials are postponed before the next one is skipped.
    public static let maxPostponement = Trial.firstLimit
    /// A job that is locked again after a longer time was free in between, or nobody looked.
    private static let postponementGap = Duration.seconds(5)

    /// Creates an empty set of trials.
    public init() {}

    /// Creates the trials after a crash.
    ///
    /// - Parameter suspects: The trials of all jobs that were running in the crash and will run again, each with the
    ///   start of its lost attempt.
    public init(_ suspects: [(trial: Trial, startedAt: Timestamp)]) {
        // I5
        pending = suspects.sorted { ($0.startedAt, $0.trial.job) < ($1.startedAt, $1.trial.job) }.map(\.trial)
    }

    /// Whether no job is on trial or waits for its trial. This is the usual case.
    public var isEmpty: Bool { pending.isEmpty && underWay.isEmpty }

    /// The job whose trial may begin now; nil if none may. Also ends the trials that have exceeded their limit.
    public mutating func next(now: Timestamp) -> JobID? {
        endOverdue(now)
        guard let next = pending.last else { return nil }
        let company = underWay.values.reduce(next.company) { min($0, $1.company) }
        return underWay.count < company ? next.job : nil
    }

    /// Begins the trial of the job that ``next(now:)`` returned.
    public mutating func begin(now: Timestamp) {
        guard let trial = pending.popLast() else { return }
        postponed = nil
        underWay[trial.job] = UnderWay(company: trial.company, startedAt: now, limit: trial.limit)
    }

    /// Skips the trial of the job that ``next(now:)`` returned, because the job cannot start now.
    public mutating func skip() { _ = pending.popLast() }

    /// Postpones the trial of the job that ``next(now:)`` returned, because another transaction has locked the job.
    /// Skips the trial instead if trials have been postponed for ``maxPostponement`` without interruption.
    ///
    /// - Returns: Whether other jobs must still wait for the trial.
    public mutating func postpone(now: Timestamp) -> Bool {
        if pending.isEmpty { return false }
        let since = isPostponed(now) ? postponed?.since ?? now : now
        postponed = (since, now)
        if now - since < Self.maxPostponement { return true }
        skip()
        return false
    }

    private func isPostponed(_ now: Timestamp) -> Bool {
        postponed.map { now - $0.last <= Self.postponementGap } ?? false
    }

    /// Corrects the trials after a transaction whose outcome was unknown: it may have begun or ended trials.
    ///
    /// - Parameter running: The jobs that are running.
    public mutating func correct(running: Set<JobID>, now: Timestamp) {
        underWay = underWay.filter { running.contains($0.key) }
        for trial in pending where running.contains(trial.job) {
            underWay[trial.job] = UnderWay(company: trial.company, startedAt: now, limit: trial.limit)
        }
        pending.removeAll { running.contains($0.job) }
    }

    /// Ends the trial of the job, if it is on trial. Call it when an attempt of the job has ended.
    public mutating func ended(_ job: JobID) { underWay[job] = nil }

    /// The time until which other jobs must not start; nil if they may start (I3). Also ends the trials that have
    /// exceeded their limit.
    public mutating func holdsOthers(now: Timestamp) -> Timestamp? {
        endOverdue(now)
        return underWay.values.map(\.endsAt).min()
    }

    /// A summary of the trials for people.
    public struct Report: Sendable, Hashable {
        /// The jobs on trial, which run apart from others, sorted.
        public var running: [JobID]
        /// The number of jobs that wait for their trials.
        public var pending: Int
        /// The latest time at which other jobs may start or the next trial may begin.
        public var endsAt: Timestamp?

        /// Creates a report.
        public init(running: [JobID], pending: Int, endsAt: Timestamp?) {
            self.running = running
            self.pending = pending
            self.endsAt = endsAt
        }
    }

    /// A summary of the trials for people; nil if no job is held up.
    public mutating func report(now: Timestamp) -> Report? {
        var endsAt = holdsOthers(now: now)
        if isEmpty { return nil }
        if endsAt == nil, let postponed, isPostponed(now) { endsAt = postponed.since + Self.maxPostponement }
        return Report(running: underWay.keys.sorted(), pending: pending.count, endsAt: endsAt)
    }

    private mutating func endOverdue(_ now: Timestamp) {
        if underWay.isEmpty { return }
        underWay = underWay.filter { $0.value.endsAt > now }
    }
}
