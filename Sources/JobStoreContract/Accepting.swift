import Jobs

extension Check {
    static let accepting: [Check] = [
        Check("p1AcceptedJobsAreThereAfterARestart") { bench in
            let input = JSONText("{\"url\":\"https://example.org/\"}")
            let receipt = try await bench.enqueue(
                graph: [
                    bench.job(node: "first", input: input, priority: .high),
                    bench.job(after: [.new(0)], node: "second"),
                ], name: "pair")
            try await bench.restart()
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
        Check("p1AGraphIsEnqueuedWholeOrNotAtAll") { bench in
            let refusal = try await bench.refusal(
                of: NewGraph(
                    isGraph: true,
                    jobs: [bench.job(), bench.job(), bench.job(after: [.existing(JobID(999))])],
                    key: IdempotencyKey(name: "whole", fingerprint: 1)))
            try expectEqual(refusal, .unknownDependency(JobID(999)))
            try expectEqual(try await bench.store.jobs(JobFilter()).count, 0)
            try expectEqual(try await bench.store.graphs(limit: 10, before: nil).count, 0)
            // The key was not used either.
            _ = try await bench.enqueue(graph: [bench.job()], key: IdempotencyKey(name: "whole", fingerprint: 2))
        },
        Check("aRefusedGraphDoesNotTouchTheOthersOfItsCall") { bench in
            let good = NewGraph(isGraph: false, jobs: [bench.job()])
            let bad = NewGraph(isGraph: false, jobs: [bench.job(queue: "nowhere")])
            let outcomes = try await bench.store.enqueue([good, bad, good], now: bench.now)
            try expectEqual(outcomes[1], .refused(.unknownQueue("nowhere")))
            for index in [0, 2] {
                try expectEqual(try await bench.state(bench.receipt(of: outcomes[index]).jobs[0]), .ready)
            }
            try expectEqual(try await bench.store.jobs(JobFilter()).count, 2)
        },
        Check("anUnknownDefinitionIsRefused") { bench in
            let refusal = try await bench.refusal(
                of: NewGraph(isGraph: false, jobs: [NewJob(definition: DefinitionID(4711))]))
            try expectEqual(refusal, .unknownDefinition(DefinitionID(4711)))
        },
        Check("aCycleIsRefusedWithAJobThatStandsOnIt") { bench in
            // Jobs 1, 2 and 3 form a cycle. Job 0 depends on the cycle, and the cycle depends on job 4.
            let refusal = try await bench.refusal(
                of: NewGraph(
                    isGraph: true,
                    jobs: [
                        bench.job(after: [.new(1)]),
                        bench.job(after: [.new(4), .new(2)]),
                        bench.job(after: [.new(3)]),
                        bench.job(after: [.new(1)]),
                        bench.job(),
                    ]))
            guard case .cycle(let index) = refusal else {
                throw Violation(description: "expected a cycle, found \(refusal)")
            }
            try expect([1, 2, 3].contains(index), "job \(index) does not stand on the cycle")
            try expectEqual(
                try await bench.refusal(
                    of: NewGraph(isGraph: true, jobs: [bench.job(after: [.new(0)])])),
                .cycle(through: 0))
        },
        Check("p1RepeatingAnEnqueueWithItsKeyIsHarmless") { bench in
            let graph = NewGraph(
                isGraph: true, jobs: [bench.job(), bench.job()], key: IdempotencyKey(name: "once", fingerprint: -5))
            let receipt = try await bench.enqueue(graph)
            try expectEqual(try await bench.store.enqueue([graph], now: bench.now), [.duplicate(receipt)])
            try await bench.restart()
            try expectEqual(
                try await bench.store.enqueue([graph, graph], now: bench.now),
                [.duplicate(receipt), .duplicate(receipt)])
            try expectEqual(try await bench.store.jobs(JobFilter()).count, 2)
            var other = graph
            other.key?.fingerprint = 6
            try expectEqual(try await bench.refusal(of: other), .keyUsedForAnotherRequest(key: "once"))
        },
        Check("aKeyTellsItsReceiptWithoutItsRequest") { bench in
            let key = IdempotencyKey(name: "once", fingerprint: 1)
            try expectEqual(try await bench.store.outcome(of: key), nil)
            let pair = try await bench.enqueue(graph: [bench.job(), bench.job()], key: key)
            try expectEqual(try await bench.store.outcome(of: key), .duplicate(pair))
            let lone = IdempotencyKey(name: "lone", fingerprint: 1)
            let receipt = try await bench.enqueue(NewGraph(isGraph: false, jobs: [bench.job()], key: lone))
            try expectEqual(try await bench.store.outcome(of: lone), .duplicate(receipt))
            try expectEqual(
                try await bench.store.outcome(of: IdempotencyKey(name: "once", fingerprint: 2)),
                .refused(.keyUsedForAnotherRequest(key: "once")))
        },
        Check("twoGraphsWithOneKeyInOneCallAreOne") { bench in
            let graph = NewGraph(
                isGraph: false, jobs: [bench.job()], key: IdempotencyKey(name: "once", fingerprint: 1))
            let outcomes = try await bench.store.enqueue([graph, graph], now: bench.now)
            try expectEqual(outcomes[1], .duplicate(bench.receipt(of: outcomes[0])))
        },
        Check("numbersAscendInTheOrderOfAcceptance") { bench in
            let first = try await bench.enqueue(bench.job())
            let graph = try await bench.enqueue(graph: [bench.job(), bench.job()])
            try expect(first < graph.jobs[0] && graph.jobs[0] < graph.jobs[1], "numbers ascend")
            try expect(first.rawValue > 0, "numbers are positive")
        },
        Check("p1EnqueuesOfManyCallersAtOnceAreAllKept") { bench in
            let job = bench.job()
            let jobs = try await withThrowingTaskGroup(of: JobID.self) { group in
                for _ in 0..<200 { group.addTask { [bench] in try await bench.enqueue(job) } }
                return try await group.reduce(into: Set<JobID>()) { $0.insert($1) }
            }
            try expectEqual(jobs.count, 200)
            try await bench.restart()
            try expectEqual(Set(try await bench.store.jobs(JobFilter(limit: 1000)).map(\.id)), jobs)
        },
    ]
}
