/// Finds out which of the jobs that were running ended the process, by running them apart from others.
///
/// A crash says only that one of the jobs that were running is to blame, so it counts against none of them unless it was
/// the only one. A job that was running in several crashes in a row is put on trial by the next start:
///
/// - I1: After the first crash nothing changes: a killed process costs its jobs nothing.
/// - I2: After the second crash in a row at most ``Trial/firstCompany`` jobs are on trial at once; after every further one,
///   a single job.
/// - I3: Trials come before every other job, and nothing else starts while one is pending or under way.
/// - I4: A trial ends with its attempt, or after a limit that doubles with every further crash. A job that outlasts its limit
///   goes on, and no longer keeps others from starting.
/// - I5: The job that started last is tried first. It was on trial when the process crashed, or is the likeliest to blame;
///   as the first it has no company at all, so that a further crash proves it guilty.
///
/// A job alone in a crash is guilty with certainty, and only such crashes count towards the limit of rescues. A job that ends
/// the process within a time T of its start is alone when it does so after at most 4 crashes, and one more for each doubling
/// of T beyond ``Trial/limit`` after three crashes (30 s).
public struct CrashTrials: Sendable {
    public struct Trial: Sendable, Hashable {
        /// How many jobs may be on trial at once after the second crash in a row.
        public static let firstCompany = 16
        private static let firstLimit = Duration.seconds(15)

        public let job: JobID
        /// How many jobs may be on trial while this one is, itself included.
        public let company: Int
        /// 15 s after two crashes in a row, 30 s after three, and so on.
        public let limit: Duration

        /// - Parameter crashes: In a row, up to the last one.
        /// - Returns: Nil when the job needs no trial.
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

        /// A clock that was set back ends the trial: nothing may wait for it to come round again.
        func isOver(_ now: Timestamp) -> Bool { now < startedAt || now - startedAt >= limit }
    }

    /// In order; reversed, so that taking the next is cheap.
    private var pending: [Trial] = []
    private var underWay: [JobID: UnderWay] = [:]

    public init() {}

    /// - Parameter suspects: Every job that was running in the crash and runs again, with the start of its lost attempt.
    public init(_ suspects: [(trial: Trial, startedAt: Timestamp)]) {
        // I5
        pending = suspects.sorted { ($0.startedAt, $0.trial.job) < ($1.startedAt, $1.trial.job) }.map(\.trial)
    }

    /// Whether no job is on trial or waits for it: the usual case.
    public var isEmpty: Bool { pending.isEmpty && underWay.isEmpty }

    /// The job whose trial may begin now.
    public mutating func next(now: Timestamp) -> JobID? {
        endOverdue(now)
        guard let next = pending.last else { return nil }
        let company = underWay.values.reduce(next.company) { min($0, $1.company) }
        return underWay.count < company ? next.job : nil
    }

    /// Begins the trial that ``next(now:)`` named.
    public mutating func begin(now: Timestamp) {
        guard let trial = pending.popLast() else { return }
        underWay[trial.job] = UnderWay(company: trial.company, startedAt: now, limit: trial.limit)
    }

    /// Gives up the trial that ``next(now:)`` named: the job cannot start now.
    public mutating func skip() { _ = pending.popLast() }

    /// An attempt of the job ended.
    public mutating func ended(_ job: JobID) { underWay[job] = nil }

    /// Until when other jobs must not start; nil when they may. (I3)
    public mutating func holdsOthers(now: Timestamp) -> Timestamp? {
        endOverdue(now)
        return underWay.values.map { $0.startedAt + $0.limit }.min()
    }

    private mutating func endOverdue(_ now: Timestamp) {
        if underWay.isEmpty { return }
        underWay = underWay.filter { !$0.value.isOver(now) }
    }
}
