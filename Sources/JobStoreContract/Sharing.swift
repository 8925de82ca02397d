import Jobs

extension Check {
    /// The jobs of several holders.
    static let sharing: [Check] = [
        Check(pair: "claimsOfTwoHoldersNeverOverlap") { pair in
            try await pair.a.change(QueueChange(name: QueueSettings.defaultName, limit: 1000))
            let jobs = try await pair.a.enqueue(graph: (0..<300).map { _ in pair.a.job() }).jobs
            @Sendable func claimAll(_ bench: Workbench) async throws -> [JobID] {
                var claimed: [JobID] = []
                var isEmpty = 0
                // A claim may find nothing while the other holder has locked the jobs that it wants.
                while isEmpty < 3 {
                    let found = try await bench.claim(7).map(\.lease.job)
                    isEmpty = found.isEmpty ? isEmpty + 1 : 0
                    claimed += found
                }
                return claimed
            }
            async let first = claimAll(pair.a)
            async let second = claimAll(pair.b)
            let claimed = try await first + second
            try expectEqual(claimed.count, 300)
            try expectEqual(Set(claimed), Set(jobs))
        },
        Check(pair: "theEndByAnotherHolderChangesNothing") { pair in
            let (job, lease) = try await pair.a.startJob()
            try expectEqual(try await pair.b.end(lease, .succeeded(JSONText("2"))), .leaseLost)
            try expectEqual(try await pair.a.state(job), .running)
            try expectEqual(try await pair.a.end(lease, .succeeded(JSONText("1"))), .recorded(.succeeded))
            try expectEqual(try await pair.b.result(job).value, .succeeded(JSONText("1")))
        },
        Check(pair: "aGraphMayRunOnSeveralHolders") { pair in
            let jobs = try await pair.a.enqueue(graph: [
                pair.a.job(), pair.a.job(after: [.new(0)]), pair.a.job(after: [.new(0), .new(1)]),
            ]).jobs
            try expectEqual(try await pair.b.runOne(.succeeded(JSONText("1"))), jobs[0])
            try expectEqual(try await pair.a.runOne(.succeeded(JSONText("2"))), jobs[1])
            try expectEqual(try await pair.b.outputs(of: jobs[2]).map(\.output), [JSONText("1"), JSONText("2")])
            try expectEqual(try await pair.b.runOne(), jobs[2])
        },
        Check(pair: "aRetryOfOneHolderIsDueForTheOther") { pair in
            let (job, lease) = try await pair.a.startJob()
            try await pair.a.end(lease, .retry(.broken, after: .seconds(5)))
            try expectEqual(try await pair.b.claim(), [])
            try await pair.advance(.seconds(5), renewing: pair.a, pair.b)
            try expectEqual(try await pair.b.claim().map(\.lease), [Lease(job: job, attempt: 2)])
        },
        Check(pair: "oneKeyEnqueuedByTwoHoldersGivesOneGraph") { pair in
            for round in 0..<20 {
                let key = IdempotencyKey(name: "once \(round)", fingerprint: 1)
                @Sendable func enqueue(_ bench: Workbench) async throws -> EnqueueOutcome {
                    let graph = NewGraph(isGraph: true, jobs: [bench.job(), bench.job(after: [.new(0)])], key: key)
                    return try await bench.store.enqueue([graph], now: bench.now)[0]
                }
                async let first = enqueue(pair.a)
                async let second = enqueue(pair.b)
                let outcomes = try await [first, second]
                var receipts: [EnqueueReceipt] = []
                var duplicates: [EnqueueReceipt] = []
                for outcome in outcomes {
                    switch outcome {
                    case .enqueued(let receipt): receipts.append(receipt)
                    case .duplicate(let receipt): duplicates.append(receipt)
                    case .refused(let reason): throw Violation(description: "refused: \(reason)")
                    }
                }
                try expectEqual(receipts.map(\.jobs), duplicates.map(\.jobs), "round \(round):")
                try expectEqual(receipts.count, 1, "round \(round):")
            }
            try expectEqual(try await pair.a.store.counts()[.ready], 20)
        },
        Check(pair: "theLimitOfAQueueHoldsForAllHoldersTogether") { pair in
            try await pair.a.change(QueueChange(name: QueueSettings.defaultName, limit: 3))
            for _ in 0..<40 { _ = try await pair.a.enqueue(pair.a.job()) }
            for round in 0..<10 {
                async let first = pair.a.claim(10)
                async let second = pair.b.claim(10)
                let (mine, theirs) = try await (first, second)
                try expect(mine.count + theirs.count <= 3, "round \(round): at most three run")
                let running = try await pair.a.store.queues().first?.counts[.running] ?? 0
                try expectEqual(Int(running), mine.count + theirs.count, "round \(round):")
                for job in mine { try await pair.a.end(job.lease, .succeeded(JSONText("1"))) }
                for job in theirs { try await pair.b.end(job.lease, .succeeded(JSONText("1"))) }
            }
        },
        Check(pair: "theLimitOfEachHolderHoldsAndTheOthersTakeTheRest") { pair in
            let queue = QueueSettings.defaultName
            try await pair.a.change(QueueChange(name: queue, limit: 5, limitPerDaemon: .atMost(3)))
            for _ in 0..<40 { _ = try await pair.a.enqueue(pair.a.job()) }
            var mine = try await pair.a.turn(ending: [])
            var theirs = try await pair.b.turn(ending: [])
            try expectEqual([mine.count, theirs.count], [3, 2], "slots that one holder may not use go to the other:")
            try expectEqual(try await pair.a.turn(ending: []).count, 0)
            try expectEqual(
                try await pair.b.store.holders().map(\.runningByQueue), [[queue: 3], [queue: 2]])
            // A lower limit applies from the next claim of each holder on.
            try await pair.b.change(QueueChange(name: queue, limitPerDaemon: .atMost(1)))
            mine = try await pair.a.turn(ending: mine)
            theirs = try await pair.b.turn(ending: theirs)
            try expectEqual([mine.count, theirs.count], [1, 1])
            // Without the limit per daemon, the limit of the queue is reached.
            try await pair.a.change(QueueChange(name: queue, limitPerDaemon: .unlimited))
            var count = mine.count + theirs.count
            for _ in 0..<3 {
                count += try await pair.a.turn(ending: []).count
                count += try await pair.b.turn(ending: []).count
            }
            try expectEqual(count, 5)
        },
        Check(pair: "aCancellationReachesTheHolderOfTheAttempt") { pair in
            let (job, lease) = try await pair.a.startJob()
            try await expectChange(in: pair.a.store, "job \(job) was cancelled") { change in
                guard case .jobs(let changes) = change else { return false }
                return changes.contains { $0.job == job && $0.isCancelRequest }
            } after: {
                try expectEqual(try await pair.b.cancel([job]), [.requested])
            }
            try expectEqual(try await pair.a.end(lease, .retry(.broken, after: .zero)), .recorded(.cancelled))
        },
        Check(pair: "aHolderHearsOfJobsThatAnotherEnqueued") { pair in
            try await expectChange(in: pair.b.store, "a job is ready") { change in
                guard case .jobs(let changes) = change else { return false }
                return changes.contains { $0.state == .ready }
            } after: {
                _ = try await pair.a.enqueue(pair.a.job())
            }
            try expectEqual(try await pair.b.claim().count, 1)
        },
        Check(pair: "aPruneByOneHolderIsSeenByTheOther") { pair in
            let job = try await pair.a.enqueue(pair.a.job())
            try await pair.a.runOne()
            try expectEqual(try await pair.b.pruneAfterASecond(), 1)
            try expectEqual(try await pair.a.store.job(job), nil)
            try expectEqual(try await pair.a.store.result(of: job), nil)
        },
        Check(pair: "aTimeOfAScheduleIsFiredForOnce") { pair in
            _ = try await pair.a.planNightly(in: .seconds(5), overlap: .allow)
            pair.a.advance(.seconds(5))
            for round in 0..<10 {
                let record = try await pair.a.scheduleRecord("nightly")
                @Sendable func fire(_ bench: Workbench) async throws -> FiringOutcome {
                    try await bench.store.fire(bench.firing(record, next: .milliseconds(1)), now: bench.now)
                }
                async let first = fire(pair.a)
                async let second = fire(pair.b)
                let outcomes = try await [first, second]
                try expectEqual(outcomes.count { $0 == .stale }, 1, "round \(round):")
                try expectEqual(
                    outcomes.count { if case .fired = $0 { true } else { false } }, 1, "round \(round):")
            }
            try expectEqual(try await pair.b.store.counts()[.ready], 10)
        },
    ]

    /// Settings of several holders.
    static let sharingSettings: [Check] = [
        Check(pair: "definitionsThatOneHolderChangesAreSeenByTheOther") { pair in
            try await expectChange(in: pair.b.store, "definitions changed") {
                if case .definitions = $0 { true } else { false }
            } after: {
                try await pair.a.change(DefinitionChange(definitions: [Definition(name: "new", kind: "noop")]))
            }
            try expectEqual(
                try await pair.b.store.definitions().definitions.map(\.definition.name), ["new", "step"])
            try await expectChange(in: pair.a.store, "queues changed") {
                if case .queues = $0 { true } else { false }
            } after: {
                try await pair.b.change(QueueChange(name: "mail", isPaused: true))
            }
            _ = try await pair.a.enqueue(pair.a.job(queue: "mail"))
            try expectEqual(try await pair.a.claim(), [])
            try await expectChange(in: pair.b.store, "schedules changed") {
                if case .schedules = $0 { true } else { false }
            } after: {
                try await pair.a.change(DefinitionChange(schedules: [pair.a.schedule("nightly")]))
            }
        },
        Check(pair: "aChangeIsCheckedAgainstTheChangesOfTheOtherHolder") { pair in
            let version = try await pair.b.store.definitions().version
            try await pair.a.change(DefinitionChange(removals: ["step"]))
            let graph = GraphDefinition(name: "g", nodes: [GraphDefinition.Node(name: "n", definition: "step")])
            try expectEqual(
                try await pair.b.store.change(
                    DefinitionChange(graphs: [graph]), checkedAt: version, now: pair.b.now), .outdated)
            try expectEqual(try await pair.b.store.definitions().graphs, [])
        },
        Check(pair: "ofTwoChangesWithOneCheckOnlyOneIsWritten") { pair in
            for round in 0..<20 {
                let version = try await pair.a.store.definitions().version
                @Sendable func change(_ bench: Workbench, _ name: String) async throws -> Bool {
                    let change = DefinitionChange(definitions: [Definition(name: "\(name) \(round)", kind: "noop")])
                    return try await bench.store.change(change, checkedAt: version, now: bench.now) == .outdated
                }
                async let first = change(pair.a, "a")
                async let second = change(pair.b, "b")
                let refused = try await [first, second]
                try expectEqual(refused.count { $0 }, 1, "round \(round):")
            }
            try expectEqual(try await pair.a.store.definitions().definitions.count, 21)
        },
        Check(pair: "kindsOfSeveralHoldersAddUp") { pair in
            func kind(_ name: String, _ summary: String = "It.") -> KindDescription {
                KindDescription(
                    name: name, summary: summary, inputType: "I", outputType: "O", accepts: nil, offers: "O",
                    fields: [])
            }
            func names(_ bench: Workbench) async throws -> [String] {
                try await bench.store.definitions().kinds.map(\.name)
            }
            try await pair.a.store.register([kind("mail"), kind("upload")], by: pair.a.holder, now: pair.a.now)
            try await pair.b.store.register([kind("unfurl")], by: pair.b.holder, now: pair.b.now)
            try expectEqual(try await names(pair.a), ["mail", "unfurl", "upload"])
            pair.a.advance(.seconds(1))
            try await pair.a.store.register([kind("upload")], by: pair.a.holder, now: pair.a.now)
            try expectEqual(try await names(pair.b), ["unfurl", "upload"])
            // The last description of a kind counts.
            pair.a.advance(.seconds(1))
            try await pair.b.store.register([kind("upload", "New.")], by: pair.b.holder, now: pair.b.now)
            try expectEqual(try await pair.a.store.definitions().kinds, [kind("upload", "New.")])
            // Each holder keeps its own description.
            try expectEqual(
                try await pair.a.store.kinds(registeredBy: Holder.bench.identity).map(\.summary), ["It."])
            try expectEqual(try await pair.a.store.kinds(registeredBy: "nobody"), [])
            // They stay for commands after a goodbye, and for the next life.
            try await pair.b.store.leave(pair.b.holder, now: pair.b.now)
            try expectEqual(try await names(pair.a), ["upload"])
            try await pair.b.begin()
            try await pair.b.store.register([], by: pair.b.holder, now: pair.b.now)
            try expectEqual(try await pair.a.store.definitions().kinds, [kind("upload")])
        },
        Check(pair: "problemsOfOneHolderAreNotClearedByTheOther") { pair in
            try await pair.a.store.recordProblems(["step": "no such kind"], by: pair.a.holder)
            try await pair.b.store.recordProblems([:], by: pair.b.holder)
            try expectEqual(
                try await pair.b.store.definitions().definitions.map(\.problem), ["no such kind"])
            try await pair.a.store.recordProblems([:], by: pair.a.holder)
            try expectEqual(try await pair.b.store.definitions().definitions.map(\.problem), [nil])
        },
        Check(pair: "aQueueIsNotRemovedUnderAJobOfTheOtherHolder") { pair in
            for round in 0..<20 {
                let name = "queue \(round)"
                try await pair.a.change(QueueChange(name: name))
                async let removal = pair.a.store.removeQueue(name, now: pair.a.now)
                async let outcome = pair.b.store.enqueue(
                    [NewGraph(isGraph: false, jobs: [pair.b.job(queue: name)])], now: pair.b.now)
                let (removed, enqueued) = try await (removal, outcome[0])
                if case .enqueued = enqueued {
                    try expectEqual(removed, .used(QueueUsers(openJobs: 1)), "round \(round):")
                } else {
                    try expectEqual(enqueued, .refused(.unknownQueue(name)), "round \(round):")
                    try expectEqual(removed, .removed, "round \(round):")
                }
            }
        },
    ]
}

extension Workbench {
    /// Ends jobs with success, and claims up to ten in the same exchange.
    fileprivate func turn(ending jobs: [ClaimedJob]) async throws -> [ClaimedJob] {
        let ends = jobs.map { AttemptEnd(lease: $0.lease, ending: .succeeded(JSONText("1"))) }
        return try await exchange(ends, claim: ClaimRequest(slots: 10)).claimed
    }
}
