import Testing

@testable import Jobs

@Suite struct CrashTrialsTests {
    private let start = Timestamp(milliseconds: 1_750_000_000_000)

    /// Trials of jobs 1, 2, 3 … with these crashes in a row; each job started a second after the previous one.
    private func trials(afterCrashes crashes: [Int]) -> CrashTrials {
        CrashTrials(
            crashes.enumerated().compactMap { index, crashes in
                CrashTrials.Trial(of: JobID(Int64(index + 1)), afterCrashes: crashes).map {
                    ($0, start + .seconds(index))
                }
            })
    }

    private func begin(_ trials: inout CrashTrials, now: Timestamp) -> [Int64] {
        var jobs: [Int64] = []
        while let job = trials.next(now: now) {
            trials.begin(now: now)
            jobs.append(job.rawValue)
        }
        return jobs
    }

    /// I1
    @Test func oneCrashPutsNoJobOnTrial() {
        #expect(trials(afterCrashes: [1, 1, 1]).isEmpty)
        #expect(CrashTrials.Trial(of: JobID(1), afterCrashes: 0) == nil)
    }

    /// I2, I5
    @Test func companyShrinksAndTheLastToStartIsFirst() {
        var many = trials(afterCrashes: Array(repeating: 2, count: 20))
        #expect(begin(&many, now: start) == Array((5...20).reversed()))
        var few = trials(afterCrashes: [3, 3])
        #expect(begin(&few, now: start) == [2])
        // The stricter of two limits applies, whichever job started first.
        var mixed = trials(afterCrashes: [3, 2, 2])
        #expect(begin(&mixed, now: start) == [3, 2])
        mixed.ended(JobID(3))
        #expect(begin(&mixed, now: start) == [])
        mixed.ended(JobID(2))
        #expect(begin(&mixed, now: start) == [1])
    }

    /// I3, I4
    @Test(arguments: [(2, 15), (3, 30), (4, 60), (5, 120)])
    func trialEndsWithItsAttemptOrItsLimit(crashes: Int, seconds: Int) {
        var trials = trials(afterCrashes: [crashes])
        #expect(begin(&trials, now: start) == [1])
        let end = start + .seconds(seconds)
        #expect(trials.holdsOthers(now: end + .milliseconds(-1)) == end)
        var ended = trials
        ended.ended(JobID(1))
        #expect(ended.holdsOthers(now: start) == nil && ended.isEmpty)
        #expect(trials.holdsOthers(now: end) == nil && trials.isEmpty)
    }

    @Test func reportNamesWhatOthersWaitFor() {
        var trials = trials(afterCrashes: [3, 3])
        #expect(trials.report(now: start) == CrashTrials.Report(running: [], pending: 2, endsAt: nil))
        trials.begin(now: start)
        #expect(
            trials.report(now: start)
                == CrashTrials.Report(running: [JobID(2)], pending: 1, endsAt: start + .seconds(30)))
        trials.ended(JobID(2))
        trials.skip()
        #expect(trials.report(now: start) == nil)
    }

    /// I4
    @Test func trialsArePostponedAtMostForSomeTimeInAll() {
        var trials = trials(afterCrashes: [3, 3, 3])
        /// The job of the next trial, and whether it is still postponed, this number of seconds after the start.
        func postpone(after seconds: Double) -> (job: Int64?, isPostponed: Bool) {
            let now = start + .seconds(seconds)
            return (trials.next(now: now)?.rawValue, trials.postpone(now: now))
        }
        for seconds in [0, 5, 10, 14.999] { #expect(postpone(after: seconds) == (3, true)) }
        #expect(
            trials.report(now: start + .seconds(14.999))
                == CrashTrials.Report(running: [], pending: 3, endsAt: start + .seconds(15)))
        #expect(postpone(after: 15) == (3, false))
        // The next job is locked too.
        #expect(postpone(after: 15) == (2, false))
        // Nobody looked for a while, so the job may have been free.
        #expect(postpone(after: 20.001) == (1, true))
        #expect(postpone(after: 25) == (1, true))
        trials.begin(now: start + .seconds(25))
        #expect(trials.holdsOthers(now: start + .seconds(25)) == start + .seconds(55))
        #expect(postpone(after: 55) == (nil, false))
        #expect(trials.isEmpty)
    }

    /// I3, I4
    @Test func trialsAreCorrectedAfterAnUnknownOutcome() {
        var trials = trials(afterCrashes: [3, 3, 3])
        #expect(begin(&trials, now: start) == [3])
        // The transaction has ended the trial of job 3 and begun that of job 2.
        trials.correct(running: [JobID(2), JobID(9)], now: start + .seconds(1))
        #expect(
            trials.report(now: start + .seconds(1))
                == CrashTrials.Report(running: [JobID(2)], pending: 1, endsAt: start + .seconds(31)))
        #expect(trials.next(now: start + .seconds(1)) == nil)
        trials.correct(running: [], now: start + .seconds(2))
        #expect(trials.next(now: start + .seconds(2)) == JobID(1))
    }

    @Test func endlessCrashesStillGiveALimit() {
        #expect(CrashTrials.Trial(of: JobID(1), afterCrashes: .max)?.limit == .seconds(15 << 16))
    }
}
