import Jobs
import SQLite
import SQLiteInspection
import Testing

@testable import SQLiteStore

/// Claims that skip jobs without room, with a writer whose transactions the tests order themselves.
@Suite struct RoomScanTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)
    private static let success = AttemptEnd.Ending.succeeded(.emptyObject)
    private static let kinds = ["scarce", "plenty", "third"]

    /// A writer with a definition of each kind, whose number is the index of the kind plus 1.
    private func writer(_ directory: TemporaryDirectory) throws -> Writer {
        let writer = try Opening(try DatabaseLock.acquire(forDatabaseAt: directory.database), StoreOptions()).writer()
        try writer.transaction {
            _ = try writer.change(
                DefinitionChange(
                    queues: [QueueChange(name: QueueSettings.defaultName, limit: QueueSettings.maxLimit)],
                    definitions: Self.kinds.map { Definition(name: $0, kind: $0) }), now: Self.now)
        }
        return writer
    }

    private func enqueue(
        _ kind: Int, count: Int = 1, priority: Priority = .normal, _ writer: Writer
    ) throws -> [JobID] {
        let job = NewJob(definition: DefinitionID(Int64(kind + 1)), priority: priority)
        let graph = NewGraph(isGraph: false, jobs: Array(repeating: job, count: count))
        let outcome = try writer.transaction { try writer.enqueue([graph], now: Self.now)[0] }
        guard case .enqueued(let receipt) = outcome else { throw Unexpected(description: "\(outcome)") }
        return receipt.jobs
    }

    private struct Unexpected: Error, CustomStringConvertible { let description: String }

    private func exchange(
        _ writer: Writer, _ ends: [AttemptEnd] = [], slots: Int = 10, room: [String: Int], suspects: Int? = nil
    ) throws -> Exchange {
        try writer.transaction {
            // Nothing ages in these tests.
            let claim = ClaimRequest(slots: slots, ageing: .seconds(1_000_000), room: room, suspects: suspects)
            return try writer.exchange(ends, claim: claim, now: Self.now)
        }
    }

    // MARK: The cost

    /// The steps of claims in front of which `blocked` jobs without room are ready.
    private func steps(blocked: Int) throws -> [Int] {
        let directory = try TemporaryDirectory()
        let writer = try writer(directory)
        let blockedJobs = try enqueue(0, count: blocked, writer)
        var claims = 1
        while try claims < 100 && exchange(writer, room: ["scarce": 0]).nextDueAt != nil { claims += 1 }
        try #require(claims == blocked / writer.maxSkips + 1)

        var steps: [Int] = []
        func measure(_ body: () throws -> Void) throws {
            _ = writer.connection.takeStepCount()
            try body()
            steps.append(writer.connection.takeStepCount())
        }
        func expectClaim(
            _ jobs: [JobID], _ ends: [AttemptEnd] = [], room: Int, suspects: Int? = nil
        ) throws -> [AttemptEnd] {
            let answer = try exchange(writer, ends, room: ["scarce": room], suspects: suspects)
            #expect(answer.claimed.map(\.lease.job) == jobs)
            #expect(answer.nextDueAt == nil)
            return answer.claimed.map { AttemptEnd(lease: $0.lease, ending: Self.success) }
        }
        let plenty = try enqueue(1, count: 2, writer)
        var ends: [AttemptEnd] = []
        try measure { ends = try expectClaim(plenty, room: 0) }
        // Jobs that become ready again find their places.
        ends[0].ending = .interrupted
        ends[1].ending = .retry(JobFailure(code: "again", message: "Again."), after: .zero)
        try measure { ends = try expectClaim(plenty, ends, room: 0) }
        // A crashed job is behind the others, and is the only one of its class.
        let crash = Crash(failure: JobFailure(code: "crashed", message: "It."), others: 1, isExplained: true)
        ends[0].ending = .crashed(crash, maxCrashes: 1)
        try measure { ends = try expectClaim([], ends, room: 0, suspects: 0) }
        try measure { ends = try expectClaim([plenty[0]], room: 0, suspects: 1) }
        // Room for the first of the jobs that were skipped, and for two more of them.
        try measure { ends += try expectClaim([blockedJobs[0]], room: 1) }
        try measure { ends = try expectClaim(Array(blockedJobs[1...2]), ends, room: 2) }
        try measure { ends = try expectClaim([], ends, room: 0) }
        return steps
    }

    @Test func p9ClaimsDoNotReadJobsWithoutRoomAgain() throws {
        let few = try steps(blocked: 2_500)
        let many = try steps(blocked: 50_000)
        // The order in which one commit writes its rows varies, and with it a few steps.
        #expect(zip(few, many).allSatisfy { abs($0 - $1) <= 16 }, "\(few), \(many)")
        #expect(few.allSatisfy { $0 > 20 }, "the steps were counted: \(few)")
    }

    /// Limits that no job meets cost no more than a claim without limits.
    @Test func roomForAllJobsCostsNothing() throws {
        let steps = try [
            ClaimRequest(slots: 4), ClaimRequest(slots: 4, room: ["scarce": 3, "plenty": 1, "third": 0], suspects: 0),
        ].map { request in
            let directory = try TemporaryDirectory()
            let writer = try writer(directory)
            _ = try enqueue(0, count: 3, writer) + enqueue(1, count: 3, writer)
            _ = writer.connection.takeStepCount()
            #expect(
                try exchange(writer, slots: request.slots, room: request.room, suspects: request.suspects).claimed.count
                    == 4)
            return writer.connection.takeStepCount()
        }
        #expect(steps[0] == steps[1])
        #expect(steps[0] > 20, "the steps were counted: \(steps)")
    }

    @Test func rollbackForgetsWhichJobsWereSkipped() throws {
        let directory = try TemporaryDirectory()
        let writer = try writer(directory)
        _ = try enqueue(0, count: 5, writer)
        _ = try exchange(writer, room: ["scarce": 0])
        #expect(writer.memory.queues[0].passed != nil)
        try writer.begin(isObserved: false)
        try writer.rollBack()
        #expect(writer.memory.queues[0].passed == nil)
        #expect(try exchange(writer, room: [:]).claimed.count == 5)
    }

    @Test func claimsWithoutLimitsKeepNoMemory() throws {
        let directory = try TemporaryDirectory()
        let writer = try writer(directory)
        _ = try enqueue(0, count: 5, writer)
        #expect(try exchange(writer, slots: 2, room: [:]).claimed.count == 2)
        #expect(try exchange(writer, slots: 2, room: ["scarce": 2, "plenty": 0], suspects: 1).claimed.count == 2)
        #expect(writer.memory.queues[0].passed == nil)
    }

    // MARK: Random claims

    /// Claims that may skip only a few jobs at a time take the same jobs as a single look at all of them.
    @Test(arguments: 1...30)
    func jobsAreTakenInOrderHoweverFewAClaimMaySkip(seed: UInt64) throws {
        let directory = try TemporaryDirectory()
        let writer = try writer(directory)
        var random = Random(state: seed)
        writer.maxSkips = Int.random(in: 1...6, using: &random)
        var running: [Lease] = []
        for _ in 0..<60 {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                _ = try enqueue(
                    Int.random(in: 0..<3, using: &random), count: Int.random(in: 1...4, using: &random),
                    priority: [.normal, .normal, .high].randomElement(using: &random)!, writer)
            }
            var request = ClaimRequest(slots: Int.random(in: 1...6, using: &random))
            for kind in Self.kinds where Int.random(in: 0..<3, using: &random) > 0 {
                request.room[kind] = Int.random(in: 0...2, using: &random)
            }
            if Bool.random(using: &random) { request.suspects = Int.random(in: 0...1, using: &random) }
            let expected = try jobsWithRoom(writer, request)
            var claimed: [JobID] = []
            var isOver = false
            var exchanges = 0
            while !isOver, request.slots > 0 {
                exchanges += 1
                try #require(exchanges < 1000, "seed \(seed)")
                let answer = try exchange(writer, slots: request.slots, room: request.room, suspects: request.suspects)
                for job in answer.claimed {
                    if job.isSuspect {
                        request.suspects? -= 1
                    } else {
                        request.room[Self.kinds[Int(job.definition.rawValue) - 1]]? -= 1
                    }
                    claimed.append(job.lease.job)
                    running.append(job.lease)
                }
                request.slots -= answer.claimed.count
                isOver = answer.nextDueAt == nil
                try expectInvariants(writer)
            }
            #expect(claimed == expected, "seed \(seed)")
            running.shuffle(using: &random)
            let ended = running.prefix(Int.random(in: 0...running.count, using: &random))
            running.removeFirst(ended.count)
            let ends = ended.map { AttemptEnd(lease: $0, ending: randomEnding(&random)) }
            _ = try writer.transaction { try writer.exchange(ends, claim: nil, now: Self.now) }
            try expectInvariants(writer)
        }
    }

    private func randomEnding(_ random: inout Random) -> AttemptEnd.Ending {
        let failure = JobFailure(code: "broken", message: "It broke.")
        return switch Int.random(in: 0..<5, using: &random) {
        case 0: .interrupted
        case 1: .retry(failure, after: .zero)
        case 2: .crashed(Crash(failure: failure, others: 1, isExplained: true), maxCrashes: 0)
        default: Self.success
        }
    }

    /// All ready jobs of one priority.
    private func readyJobs(_ writer: Writer, level: Int) throws -> [(job: ReadyJob, room: RoomClass)] {
        let cursor = writer.claiming.ready[level]
        defer { cursor.reset() }
        var jobs: [(job: ReadyJob, room: RoomClass)] = []
        var next = try cursor.first(queue: 1)
        while let job = next {
            jobs.append((job, try writer.roomClass(of: job)))
            next = try cursor.next()
        }
        return jobs
    }

    private func jobsWithRoom(_ writer: Writer, _ request: ClaimRequest) throws -> [JobID] {
        var room = ClaimRoom(request, writer.memory)
        var jobs: [JobID] = []
        for level in writer.claiming.ready.indices {
            for (job, roomClass) in try readyJobs(writer, level: level)
            where jobs.count < request.slots && room.admits(roomClass) {
                room.take(roomClass)
                jobs.append(job.id)
            }
        }
        return jobs
    }

    /// R1 to R3 of ``PassedJobs``.
    private func expectInvariants(_ writer: Writer) throws {
        guard let levels = writer.memory.queues[0].passed else { return }
        for (level, passed) in levels.enumerated() {
            for (job, room) in try readyJobs(writer, level: level) {
                if job.place > passed.end {
                    #expect(!passed.isComplete, "R3")
                } else {
                    let after = passed.classes.first { $0.room == room }?.after
                    #expect(after.map { $0 < job.place } == true, "R1, R2: \(job.id)")
                }
            }
        }
    }
}

extension Writer {
    fileprivate func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try begin(isObserved: false)
        let value = try body()
        try flush()
        try commit()
        return value
    }
}

/// SplitMix64.
private struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
