import Jobs

extension Check {
    static let accepting: [Check] = [
        Check("p1AcceptedJobsAreThereAfterARestart") { source in
            var bench = try await Workbench(source)
            let input = JSONText("{\"url\":\"https://example.org/\"}")
            let receipt = try await bench.enqueue(
                NewGraph(
                    name: "pair", isGraph: true,
                    jobs: [
                        bench.job(node: "first", input: input, priority: .high),
                        bench.job(after: [NewDependency(on: .new(0))], node: "second"),
                    ]))
            bench = try await bench.restarted()
            let first = try await bench.record(receipt.jobs[0])
            try expectEqual(first.input, input)
            try expectEqual(first.node, "first")
            try expectEqual(first.priority, .high)
            try expectEqual(first.state, .ready)
            try expectEqual(first.enqueuedAt, bench.now)
            try expectEqual(first.graph, receipt.graph)
            try expectEqual(try await bench.state(receipt.jobs[1]), .blocked)
            try expectEqual(
                try await bench.dependencies(of: receipt.jobs[1]).map(\.job), [receipt.jobs[0]])
        },
        Check("p1AGraphIsEnqueuedWholeOrNotAtAll") { source in
            let bench = try await Workbench(source)
            let refusal = try await bench.refusal(
                of: NewGraph(
                    isGraph: true,
                    jobs: [bench.job(), bench.job(), bench.job(after: [NewDependency(on: .existing(JobID(999)))])],
                    key: IdempotencyKey(name: "whole", fingerprint: 1)))
            try expectEqual(refusal, .unknownDependency(JobID(999)))
            try expectEqual(try await bench.store.jobs(JobFilter()).count, 0)
            try expectEqual(try await bench.store.graphs(limit: 10, before: nil).count, 0)
            // The key was not used either.
            _ = try await bench.enqueue(
                NewGraph(isGraph: true, jobs: [bench.job()], key: IdempotencyKey(name: "whole", fingerprint: 2)))
        },
        Check("aRefusedGraphDoesNotTouchTheOthersOfItsCall") { source in
            let bench = try await Workbench(source)
            let good = NewGraph(isGraph: false, jobs: [bench.job()])
            let bad = NewGraph(isGraph: false, jobs: [bench.job(queue: "nowhere")])
            let outcomes = try await bench.store.enqueue([good, bad, good], now: bench.now)
            try expectEqual(outcomes[1], .refused(.unknownQueue("nowhere")))
            for index in [0, 2] {
                guard case .enqueued(let receipt) = outcomes[index] else {
                    throw Violation(description: "expected graph \(index) to be enqueued, found \(outcomes[index])")
                }
                try expectEqual(try await bench.state(receipt.jobs[0]), .ready)
            }
            try expectEqual(try await bench.store.jobs(JobFilter()).count, 2)
        },
        Check("anUnknownDefinitionIsRefused") { source in
            let bench = try await Workbench(source)
            let refusal = try await bench.refusal(
                of: NewGraph(isGraph: false, jobs: [NewJob(definition: DefinitionID(4711))]))
            try expectEqual(refusal, .unknownDefinition(DefinitionID(4711)))
        },
        Check("aCycleIsRefusedWithAJobThatStandsOnIt") { source in
            let bench = try await Workbench(source)
            // Jobs 1, 2 and 3 form a cycle. Job 0 depends on the cycle, and the cycle depends on job 4.
            let refusal = try await bench.refusal(
                of: NewGraph(
                    isGraph: true,
                    jobs: [
                        bench.job(after: [NewDependency(on: .new(1))]),
                        bench.job(after: [NewDependency(on: .new(4)), NewDependency(on: .new(2))]),
                        bench.job(after: [NewDependency(on: .new(3))]),
                        bench.job(after: [NewDependency(on: .new(1))]),
                        bench.job(),
                    ]))
            guard case .cycle(let index) = refusal else {
                throw Violation(description: "expected a cycle, found \(refusal)")
            }
            try expect([1, 2, 3].contains(index), "job \(index) does not stand on the cycle")
            try expectEqual(
                try await bench.refusal(
                    of: NewGraph(isGraph: true, jobs: [bench.job(after: [NewDependency(on: .new(0))])])),
                .cycle(through: 0))
        },
        Check("p1RepeatingAnEnqueueWithItsKeyIsHarmless") { source in
            var bench = try await Workbench(source)
            let graph = NewGraph(
                isGraph: true, jobs: [bench.job(), bench.job()], key: IdempotencyKey(name: "once", fingerprint: -5))
            let receipt = try await bench.enqueue(graph)
            try expectEqual(try await bench.store.enqueue([graph], now: bench.now), [.duplicate(receipt)])
            bench = try await bench.restarted()
            try expectEqual(
                try await bench.store.enqueue([graph, graph], now: bench.now),
                [.duplicate(receipt), .duplicate(receipt)])
            try expectEqual(try await bench.store.jobs(JobFilter()).count, 2)
            var other = graph
            other.key?.fingerprint = 6
            try expectEqual(try await bench.refusal(of: other), .keyUsedForAnotherRequest(key: "once"))
        },
        Check("aKeyTellsItsReceiptWithoutItsRequest") { source in
            let bench = try await Workbench(source)
            let key = IdempotencyKey(name: "once", fingerprint: 1)
            try expectEqual(try await bench.store.outcome(of: key), nil)
            let pair = try await bench.enqueue(NewGraph(isGraph: true, jobs: [bench.job(), bench.job()], key: key))
            try expectEqual(try await bench.store.outcome(of: key), .duplicate(pair))
            let lone = IdempotencyKey(name: "lone", fingerprint: 1)
            let receipt = try await bench.enqueue(NewGraph(isGraph: false, jobs: [bench.job()], key: lone))
            try expectEqual(try await bench.store.outcome(of: lone), .duplicate(receipt))
            try expectEqual(
                try await bench.store.outcome(of: IdempotencyKey(name: "once", fingerprint: 2)),
                .refused(.keyUsedForAnotherRequest(key: "once")))
        },
        Check("twoGraphsWithOneKeyInOneCallAreOne") { source in
            let bench = try await Workbench(source)
            let graph = NewGraph(
                isGraph: false, jobs: [bench.job()], key: IdempotencyKey(name: "once", fingerprint: 1))
            let outcomes = try await bench.store.enqueue([graph, graph], now: bench.now)
            guard case .enqueued(let receipt) = outcomes[0] else {
                throw Violation(description: "expected the first to be enqueued, found \(outcomes[0])")
            }
            try expectEqual(outcomes[1], .duplicate(receipt))
        },
        Check("numbersAscendInTheOrderOfAcceptance") { source in
            let bench = try await Workbench(source)
            let first = try await bench.enqueue(bench.job())
            let graph = try await bench.enqueue(NewGraph(isGraph: true, jobs: [bench.job(), bench.job()]))
            try expect(first < graph.jobs[0] && graph.jobs[0] < graph.jobs[1], "numbers ascend")
            try expect(first.rawValue > 0, "numbers are positive")
        },
        Check("p1EnqueuesOfManyCallersAtOnceAreAllKept") { source in
            var bench = try await Workbench(source)
            let job = bench.job()
            let jobs = try await withThrowingTaskGroup(of: JobID.self) { group in
                for _ in 0..<200 { group.addTask { [bench] in try await bench.enqueue(job) } }
                return try await group.reduce(into: Set<JobID>()) { $0.insert($1) }
            }
            try expectEqual(jobs.count, 200)
            bench = try await bench.restarted()
            try expectEqual(Set(try await bench.store.jobs(JobFilter(limit: 1000)).map(\.id)), jobs)
        },
    ]
}
