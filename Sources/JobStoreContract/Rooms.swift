import Jobs

/// Claims that leave out jobs without room.
extension Check {
    static let rooms: [Check] = [
        Check("aKindStartsNoMoreJobsThanItHasRoom") { bench in
            let kinds = try await Kinds(bench)
            let scarce = try await kinds.enqueue("scarce", "scarce", "scarce")
            let plenty = try await kinds.enqueue("plenty", "plenty")
            for (room, expected) in [(0, plenty), (2, Array(scarce[..<2])), (-1, []), (1, [scarce[2]])] {
                let claimed = try await bench.claim(ClaimRequest(slots: 10, room: ["scarce": room]))
                try expectEqual(claimed.map(\.lease.job), expected, "room \(room):")
            }
        },
        Check("jobsWithoutRoomDoNotChangeTheOrderOfTheOthers") { bench in
            let kinds = try await Kinds(bench)
            let jobs = try await kinds.enqueue("plenty", "scarce", "plenty", "scarce", "plenty")
            let urgent = try await kinds.enqueue("scarce", priority: .high)
            var claimed = try await bench.claim(ClaimRequest(slots: 2, room: ["scarce": 0]))
            try expectEqual(claimed.map(\.lease.job), [jobs[0], jobs[2]])
            // Once there is room, the order is the same as without skipping.
            claimed = try await bench.claim(ClaimRequest(slots: 10, room: ["scarce": 2]))
            try expectEqual(claimed.map(\.lease.job), urgent + [jobs[1], jobs[4]])
            try expectEqual(try await bench.claim().map(\.lease.job), [jobs[3]])
        },
        Check("aRoomForAnUnknownKindLimitsNothing") { bench in
            let job = try await bench.enqueue(bench.job())
            try expectEqual(
                try await bench.claim(ClaimRequest(slots: 1, room: ["unknown": 0])).map(\.lease.job), [job])
        },
        Check("aQueueWithoutRoomTakesNoShareOfTheSlots") { bench in
            let kinds = try await Kinds(bench)
            try await bench.change(QueueChange(name: "heavy", limit: 100, weight: 50))
            for _ in 0..<20 {
                try await kinds.enqueue("scarce", queue: "heavy")
                try await kinds.enqueue("plenty")
            }
            for _ in 0..<10 {
                let claimed = try await bench.claim(ClaimRequest(slots: 1, room: ["scarce": 0]))
                try expectEqual(claimed.count, 1)
                try await bench.end(claimed[0].lease, .succeeded(JSONText("1")))
            }
        },
        Check("queuesShareTheRoomOfAKindByWeight") { bench in
            let kinds = try await Kinds(bench)
            try await bench.change(QueueChange(name: "heavy", limit: 100, weight: 3))
            var heavy: Set<JobID> = []
            for _ in 0..<40 {
                try await kinds.enqueue("scarce")
                heavy.formUnion(try await kinds.enqueue("scarce", queue: "heavy"))
            }
            var claimed: [JobID] = []
            for _ in 0..<12 {
                for job in try await bench.claim(ClaimRequest(slots: 50, room: ["scarce": 2])) {
                    claimed.append(job.lease.job)
                    try await bench.end(job.lease, .succeeded(JSONText("1")))
                }
            }
            try expectEqual(claimed.count, 24)
            try expectEqual(claimed.filter(heavy.contains).count, 18)
        },
        Check("suspectsHaveTheirOwnRoom") { bench in
            let kinds = try await Kinds(bench)
            let suspects = try await kinds.enqueue("scarce", "plenty", "scarce")
            for job in try await bench.claim() {
                try await bench.end(job.lease, .crashed(.worker(beside: 2), maxCrashes: 0))
            }
            let innocent = try await kinds.enqueue("plenty", "scarce")
            for (request, expected) in [
                (ClaimRequest(slots: 10, room: ["scarce": 0], suspects: 0), [innocent[0]]),
                (ClaimRequest(slots: 10, room: ["scarce": 0, "plenty": 0], suspects: 1), [suspects[0]]),
                (ClaimRequest(slots: 1, suspects: 2), [suspects[1]]),
                (ClaimRequest(slots: 10, room: ["scarce": 1]), [suspects[2], innocent[1]]),
            ] {
                let claimed = try await bench.claim(request)
                try expectEqual(claimed.map(\.lease.job), expected)
                try expectEqual(claimed.map(\.isSuspect), expected.map(suspects.contains))
            }
        },
        Check("suspectsOfAKindWithoutRoomWait") { bench in
            let kinds = try await Kinds(bench)
            let suspects = try await kinds.enqueue("scarce", "plenty", "scarce")
            for job in try await bench.claim() {
                try await bench.end(job.lease, .crashed(.worker(beside: 2), maxCrashes: 0))
            }
            for (request, expected) in [
                (ClaimRequest(slots: 10, suspects: 9, suspectRoom: ["scarce": 0]), [suspects[1]]),
                (ClaimRequest(slots: 10, suspects: 0, suspectRoom: ["scarce": 1]), []),
                (ClaimRequest(slots: 10, suspectRoom: ["scarce": 1]), [suspects[0]]),
                (ClaimRequest(slots: 10, suspects: 9, suspectRoom: ["plenty": 0]), [suspects[2]]),
            ] {
                try expectEqual(try await bench.claim(request).map(\.lease.job), expected)
            }
        },
        Check("aTrialWaitsForRoomForSuspectsAndHoldsNoOthers") { bench in
            let jobs = [try await bench.enqueue(bench.job()), try await bench.enqueue(bench.job())]
            for _ in 1...3 {
                _ = try await bench.claim()
                try await bench.restartAndRescue(after: .crash)
            }
            let other = try await bench.enqueue(bench.job())
            try expectEqual(try await bench.claim(ClaimRequest(slots: 9, suspects: 0)).map(\.lease.job), [other])
            let trial = try await bench.claim(ClaimRequest(slots: 9, room: ["noop": 0], suspects: 5))
            try expectEqual(trial.map(\.lease.job), [jobs[1]])
        },
        Check("p9AClaimPassesVeryManyJobsWithoutRoom") { bench in
            let kinds = try await Kinds(bench)
            let job = bench.job(definition: kinds["scarce"])
            let many = try await bench.enqueue(graph: Array(repeating: job, count: 5000)).jobs
            let behind = try await kinds.enqueue("plenty")
            try expectEqual(
                try await bench.claim(ClaimRequest(slots: 9, room: ["scarce": 0])).map(\.lease.job), behind)
            // Nothing else can start, so the caller need not claim again.
            let exchange = try await bench.exchange(
                [], claim: ClaimRequest(slots: 9, room: ["scarce": 0]))
            try expectEqual(exchange, Exchange(finished: [], claimed: [], nextDueAt: nil))
            let later = try await kinds.enqueue("plenty", "scarce", "plenty")
            try expectEqual(
                try await bench.claim(ClaimRequest(slots: 9, room: ["scarce": 1])).map(\.lease.job),
                [many[0], later[0], later[2]])
            try expectEqual(
                try await bench.claim(ClaimRequest(slots: 2, room: ["scarce": 9])).map(\.lease.job),
                Array(many[1...2]))
        },
        Check("everyJobThatBecomesReadyIsFoundBehindJobsWithoutRoom") { bench in
            let kinds = try await Kinds(bench)
            try await kinds.enqueue("scarce", "scarce")
            let plenty = kinds["plenty"]
            let jobs = try await bench.enqueue(graph: [
                bench.job(definition: plenty), bench.job(after: [.new(0)], definition: plenty),
                bench.job(wait: .seconds(5), definition: plenty),
                bench.job(dueAt: bench.now + .seconds(5), definition: plenty),
            ]).jobs
            /// Claims all jobs with room, and proves that no others are found.
            func expectClaim(_ expected: [JobID]) async throws -> [Lease] {
                let request = ClaimRequest(slots: 10, room: ["scarce": 0])
                let claimed = try await bench.claim(request)
                try expectEqual(claimed.map(\.lease.job), expected)
                try expectEqual(try await bench.claim(request), [])
                return claimed.map(\.lease)
            }
            var lease = try await expectClaim([jobs[0]])[0]
            try await bench.end(lease, .succeeded(JSONText("1")))
            lease = try await expectClaim([jobs[1]])[0]
            for ending in [
                .interrupted, .crashed(.worker(beside: 1), maxCrashes: 0), .retry(.broken, after: .zero),
            ] as [AttemptEnd.Ending] {
                try await bench.end(lease, ending)
                lease = try await expectClaim([jobs[1]])[0]
            }
            try await bench.end(lease, .retry(.broken, after: .seconds(5)))
            _ = try await expectClaim([])
            bench.advance(.seconds(5))
            _ = try await expectClaim(Array(jobs[1...]))
            let new = try await kinds.enqueue("plenty")
            _ = try await expectClaim(new)
        },
        Check("aJobWithoutRoomIsNotAtRest") { bench in
            _ = try await bench.enqueue(bench.job())
            try expectEqual(try await bench.claim(ClaimRequest(slots: 1, room: ["noop": 0])), [])
            try expectEqual(try await bench.store.isAtRest(now: bench.now), false)
        },
        Check("claimsWithRoomTakeWhatANaiveModelTakes", each: Array(1...40)) { bench, seed in
            try await randomRooms(bench, seed: seed)
        },
    ]
}

/// Definitions of the kinds `scarce` and `plenty`.
private struct Kinds {
    let bench: Workbench
    private let definitions: [String: DefinitionID]

    init(_ bench: Workbench) async throws {
        self.bench = bench
        var definitions: [String: DefinitionID] = [:]
        for kind in ["scarce", "plenty"] { definitions[kind] = try await bench.define(kind: kind) }
        self.definitions = definitions
    }

    subscript(kind: String) -> DefinitionID { definitions[kind]! }

    @discardableResult
    func enqueue(
        _ kinds: String..., queue: String = "default", priority: Priority = .normal
    ) async throws -> [JobID] {
        var jobs: [JobID] = []
        for kind in kinds {
            jobs.append(try await bench.enqueue(bench.job(queue: queue, priority: priority, definition: self[kind])))
        }
        return jobs
    }
}
