import Jobs
import Samples
import Testing

@testable import Workers

/// P14: random mixes of innocent jobs and jobs that end their process, through the dispatcher and the store's rule for
/// crashes.
@Suite struct GuiltTests {
    struct Day {
        var random: SplitMix
        var dispatcher: Dispatcher
        var jobs: [JobID: Job] = [:]
        var now: Duration = .zero
        var starting: [Dispatcher.WorkerID] = []
        /// The attempts in each ready process, and whether each has begun.
        var running: [Dispatcher.WorkerID: [Lease: Bool]] = [:]
        var launches = 0
        static let maxCrashes = 3

        struct Job {
            var isGuilty: Bool
            var attempt = 0
            var isClaimed = false
            var isSuspect = false
            var crashesAlone = 0
            var end: End?
        }

        enum End { case succeeded, crashed }

        init(seed: UInt64, innocent: Int, guilty: Int) {
            random = SplitMix(seed: seed)
            dispatcher = Dispatcher(
                limits: .init(
                    processes: .random(in: 1...3, using: &random), attempts: .random(in: 1...64, using: &random)))
            for number in 1...(innocent + guilty) { jobs[JobID(Int64(number))] = Job(isGuilty: number <= guilty) }
        }

        /// Runs until every job has ended, and returns false if that takes too long.
        mutating func run() -> Bool {
            for _ in 0..<200_000 {
                if jobs.values.allSatisfy({ $0.end != nil }) { return true }
                claim()
                step()
            }
            return false
        }

        private mutating func claim() {
            var room = dispatcher.room(now: now)
            var suspects = dispatcher.roomForSuspects(now: now)
            for (id, job) in jobs.sorted(by: { $0.key < $1.key }) where job.end == nil && !job.isClaimed {
                if job.isSuspect ? suspects == 0 : room == 0 { continue }
                if job.isSuspect { suspects -= 1 } else { room -= 1 }
                jobs[id]?.attempt += 1
                jobs[id]?.isClaimed = true
                handle(.run(Lease(job: id, attempt: job.attempt + 1), isSuspect: job.isSuspect))
            }
        }

        private mutating func step() {
            if let alarm = dispatcher.alarmAt, starting.isEmpty, running.values.allSatisfy(\.isEmpty) {
                now = max(now, alarm)
                return handle(.alarm)
            }
            if let worker = starting.randomElement(using: &random), Bool.random(using: &random) {
                starting.removeAll { $0 == worker }
                running[worker] = [:]
                return handle(.introduced(worker))
            }
            guard let (worker, attempts) = running.sorted(by: { $0.key < $1.key }).randomElement(using: &random),
                let (lease, hasBegun) = attempts.sorted(by: { $0.key.job < $1.key.job }).randomElement(using: &random)
            else { return }
            guard hasBegun else {
                let leases = attempts.filter { !$0.value }.keys.prefix(.random(in: 1...8, using: &random))
                for lease in leases { running[worker]?[lease] = true }
                return handle(.began(worker, Array(leases)))
            }
            if jobs[lease.job]?.isGuilty == true {
                running[worker] = nil
                handle(.exited(worker))
            } else {
                running[worker]?[lease] = nil
                jobs[lease.job]?.end = .succeeded
                handle(.ended(worker, lease))
            }
        }

        private mutating func handle(_ event: Dispatcher.Event) {
            for action in dispatcher.handle(event, now: now) {
                switch action {
                case .launch(let worker, _):
                    launches += 1
                    starting.append(worker)
                case .send(let lease, let worker): running[worker]?[lease] = false
                case .end(let lease, let fate): end(lease, fate)
                case .ping(let worker, let id): handle(.pong(worker, id: id))
                case .drain(let worker), .kill(let worker, _):
                    running[worker] = nil
                    handle(.exited(worker))
                case .rest, .examine: break
                }
            }
        }

        /// As the store does: a crash counts only against a job that ran alone, and makes each job a suspect.
        private mutating func end(_ lease: Lease, _ fate: Dispatcher.Fate) {
            jobs[lease.job]?.isClaimed = false
            guard case .crashed(let others, _) = fate else { return }
            jobs[lease.job]?.isSuspect = true
            guard others == 0 else { return }
            jobs[lease.job]?.crashesAlone += 1
            if let job = jobs[lease.job], job.crashesAlone > Self.maxCrashes { jobs[lease.job]?.end = .crashed }
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func noInnocentJobFailsAndEveryGuiltyOneDoes(seed: UInt64) {
        var counts = SplitMix(seed: seed &+ 1000)
        let innocent = Int.random(in: 1...100, using: &counts)
        let guilty = Int.random(in: 0...6, using: &counts)
        var day = Day(seed: seed, innocent: innocent, guilty: guilty)
        let isOver = day.run()
        #expect(isOver, "seed \(seed)")
        for (id, job) in day.jobs { #expect((job.end == .crashed) == job.isGuilty, "job \(id), seed \(seed)") }
        // Each guilty job ends at most 4 processes alone, and at most one that it shares. Each of these deaths leads to
        // at most one launch, beside the first processes and those that replace idle ones.
        let bound = guilty * (Day.maxCrashes + 2) + 3 + 2
        #expect(day.launches <= bound, "\(day.launches) launches for \(guilty) guilty jobs, seed \(seed)")
    }
}
