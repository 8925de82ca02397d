import Jobs

extension Check {
    static let graphing: [Check] = [
        Check("p4ADependentStartsOnlyAfterAllItsDependencies") { bench in
            let receipt = try await bench.enqueue(graph: [
                bench.job(), bench.job(), bench.job(after: [.new(0), .new(1)]),
            ])
            try expectEqual(try await bench.record(receipt.jobs[2]).pendingDependencies, 2)
            let claimed = try await bench.claim()
            try expectEqual(claimed.map(\.lease.job), Array(receipt.jobs[0...1]))
            try await bench.end(claimed[0].lease, .succeeded(JSONText("1")))
            try expectEqual(try await bench.state(receipt.jobs[2]), .blocked)
            try await bench.end(claimed[1].lease, .succeeded(JSONText("2")))
            let last = try await bench.claimOne()
            try expectEqual(last.lease.job, receipt.jobs[2])
            try expect(last.hasDependencies, "the claim says that outputs are there to be bound")
            try expectEqual(last.graph, receipt.graph)
        },
        Check("p4ADependentIsClaimedInTheExchangeThatUnblocksIt") { bench in
            let receipt = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0)])])
            let first = try await bench.claimOne()
            let exchange = try await bench.exchange(
                [AttemptEnd(lease: first.lease, ending: .succeeded(JSONText("1")))], claim: ClaimRequest(slots: 1))
            try expectEqual(exchange.claimed.map(\.lease.job), [receipt.jobs[1]])
            // The result of the job's dependency is already durable.
            try expectEqual(
                try await bench.outputs(of: receipt.jobs[1]),
                [DependencyOutput(dependency: receipt.jobs[0], kind: "noop", output: JSONText("1"))])
        },
        Check("anOutputNamesItsNodeAndTheAttemptThatSucceeded") { bench in
            let receipt = try await bench.enqueue(graph: [
                bench.job(node: "page"), bench.job(after: [.new(0)], node: "copy"),
            ])
            let first = try await bench.claimOne()
            try await bench.end(first.lease, .retry(.broken, after: .zero))
            try await bench.end(try await bench.claimOne().lease, .succeeded(JSONText("1")))
            try expectEqual(
                try await bench.outputs(of: receipt.jobs[1]),
                [
                    DependencyOutput(
                        dependency: receipt.jobs[0], attempt: 2, node: "page", kind: "noop", output: JSONText("1"))
                ])
        },
        Check("outputsComeInDeclaredOrder") { bench in
            let receipt = try await bench.enqueue(graph: [
                bench.job(), bench.job(), bench.job(after: [.new(1, .finished), .new(0)]),
            ])
            let claimed = try await bench.claim()
            try await bench.end(claimed[0].lease, .succeeded(JSONText("\"zero\"")))
            try await bench.end(claimed[1].lease, .failed(.broken))
            let outputs = try await bench.outputs(of: receipt.jobs[2])
            try expectEqual(outputs.map(\.dependency), [receipt.jobs[0]])
            try expectEqual(outputs.map(\.output), [JSONText("\"zero\"")])
        },
        Check("onlyTheOutputsThatAreWantedAreRead") { bench in
            try await bench.change(DefinitionChange(definitions: [Definition(name: "get", kind: "http")]))
            let get = try unwrap(try await bench.store.definitions().definitions.first { $0.definition.name == "get" })
            var other = bench.job()
            other.definition = get.id
            let receipt = try await bench.enqueue(graph: [
                bench.job(), other, bench.job(), bench.job(after: (0..<3).map { NewDependency(on: .new(2 - $0)) }),
            ])
            for job in try await bench.claim() { try await bench.end(job.lease, .succeeded(JSONText("12345678"))) }
            let last = receipt.jobs[3]
            func jobs(_ wanted: WantedOutputs) async throws -> [JobID] {
                try await bench.outputs(of: last, wanted).map(\.dependency)
            }
            try expectEqual(try await jobs(WantedOutputs()), receipt.jobs[0...2].reversed())
            try expectEqual(try await jobs(WantedOutputs(onlyFirst: true)), [receipt.jobs[2]])
            try expectEqual(try await jobs(WantedOutputs(kinds: ["http"])), [receipt.jobs[1]])
            try expectEqual(try await jobs(WantedOutputs(kinds: ["http"], onlyFirst: true)), [receipt.jobs[1]])
            try expectEqual(try await jobs(WantedOutputs(kinds: ["else"])), [])
            let store = bench.store
            let fits = try await store.outputs(ofDependenciesOf: last, WantedOutputs(), maxBytes: 24)
            try expect(fits != .tooLarge, "24 bytes fit")
            let large = try await store.outputs(ofDependenciesOf: last, WantedOutputs(), maxBytes: 23)
            try expectEqual(large, .tooLarge)
        },
        Check("neighboursAreCountedBeyondTheLimit") { bench in
            var jobs = Array(repeating: bench.job(), count: 5)
            jobs.append(bench.job(after: (0..<5).map { NewDependency(on: .new($0), condition: .finished) }))
            let receipt = try await bench.enqueue(graph: jobs)
            let last = receipt.jobs[5]
            try await bench.runOne()
            let all = try await bench.store.dependencies(of: last, onlyOpen: false, limit: 2)
            try expectEqual(all.jobs.map(\.job), Array(receipt.jobs[0...1]))
            try expectEqual(all.jobs.map(\.state), [.succeeded, .ready])
            try expectEqual(all.count, 5)
            let open = try await bench.store.dependencies(of: last, onlyOpen: true, limit: 2)
            try expectEqual(open.jobs.map(\.job), Array(receipt.jobs[1...2]))
            try expectEqual(open.count, 4)
            for _ in 0..<2 {
                _ = try await bench.enqueue(bench.job(after: [.existing(receipt.jobs[4])]))
            }
            let dependents = try await bench.store.dependents(of: receipt.jobs[4], limit: 2)
            try expectEqual(dependents.count, 2)
        },
        Check("aFailureSkipsWhatNeedsItsSuccessAndAllThatFollows") { bench in
            let receipt = try await bench.enqueue(
                graph: [
                    bench.job(node: "fetch"), bench.job(after: [.new(0)], node: "parse"),
                    bench.job(after: [.new(1)], node: "store"), bench.job(after: [.new(2, .finished)], node: "report"),
                ], name: "chain")
            try await bench.runOne(.failed(.broken))
            try expectEqual(try await bench.states(receipt.jobs), [.failed, .skipped, .skipped, .ready])
            let parse = try await bench.failure(receipt.jobs[1])
            try expectEqual(parse.code, JobFailure.Code.dependencyFailed)
            try expect(
                parse.message.contains("job \(receipt.jobs[0])") && parse.message.contains("fetch"),
                "the message names the dependency: \(parse.message)")
            try expectEqual(try await bench.failure(receipt.jobs[2]).code, JobFailure.Code.dependencySkipped)
            try expectEqual(try await bench.result(receipt.jobs[2]).attempt, 0)
            try expectEqual(try await bench.store.attempts(of: receipt.jobs[2]), [])
            try await bench.runOne()
            let graph = try unwrap(try await bench.store.graph(receipt.graph!))
            try expectEqual(graph.name, "chain")
            try expectEqual(graph.finishedAt, bench.now)
            try expectEqual(graph.counts[.skipped], 2)
            try expectEqual(graph.counts.open, 0)
        },
        Check("whatWasSkippedAtOnceIsTold") { bench in
            let failed = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            let receipt = try await bench.enqueue(graph: [
                bench.job(after: [.existing(failed)]), bench.job(after: [.existing(failed, .finished)]),
                bench.job(after: [.new(0)]),
            ])
            try expectEqual(receipt.skipped, [receipt.jobs[0], receipt.jobs[2]])
            try expectEqual(try await bench.states(receipt.jobs), [.skipped, .ready, .skipped])
        },
        Check("aRetryKeepsDependentsWaiting") { bench in
            let receipt = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0)])])
            try await bench.runOne(.retry(.broken, after: .zero))
            try expectEqual(try await bench.state(receipt.jobs[1]), .blocked)
            try await bench.runOne()
            try expectEqual(try await bench.state(receipt.jobs[1]), .ready)
        },
        Check("anEdgeBetweenTwoEnqueuesCounts") { bench in
            let first = try await bench.enqueue(bench.job())
            let second = try await bench.enqueue(bench.job(after: [.existing(first)]))
            try expectEqual(
                try await bench.store.dependents(of: first, limit: 9),
                [Neighbour(job: second, definition: "step", node: nil, state: .blocked, condition: .succeeded)])
            try await bench.runOne()
            try expectEqual(try await bench.claimOne().lease.job, second)
        },
        Check("aDependencyNamedTwiceIsWaitedForOnce") { bench in
            let receipt = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0), .new(0)])])
            try await bench.runOne()
            try expectEqual(try await bench.state(receipt.jobs[1]), .ready)
        },
        Check("edgesOfAGraphAreThoseOfItsJobs") { bench in
            let outside = try await bench.enqueue(bench.job())
            let receipt = try await bench.enqueue(graph: [
                bench.job(after: [.existing(outside)]), bench.job(after: [.new(0, .finished)]),
            ])
            _ = try await bench.enqueue(bench.job(after: [.existing(receipt.jobs[0])]))
            try expectEqual(
                try await bench.store.edges(of: receipt.graph!),
                [
                    DependencyRecord(dependent: receipt.jobs[0], dependency: outside, condition: .succeeded),
                    DependencyRecord(dependent: receipt.jobs[1], dependency: receipt.jobs[0], condition: .finished),
                ])
        },
        Check("aDeepGraphIsSkippedWithoutRecursion") { bench in
            let jobs = (0..<20_000).map { index in
                bench.job(after: index == 0 ? [] : [.new(index - 1)])
            }
            let receipt = try await bench.enqueue(graph: jobs)
            try await bench.runOne(.failed(.broken))
            var graph = try unwrap(try await bench.store.graph(receipt.graph!))
            // The store may settle this many dependents in several transactions, and serve other requests in between.
            while graph.finishedAt == nil {
                _ = try await bench.exchange([], claim: nil)
                graph = try unwrap(try await bench.store.graph(receipt.graph!))
            }
            try expectEqual(graph.counts[.skipped], 19_999)
            try expectEqual(graph.finishedAt, bench.now)
        },
        Check("aGraphOf100000JobsIsEnqueuedWhole") { bench in
            // The jobs are in reverse order, so that every dependency has a higher index, and most jobs have three.
            let count = 100_000
            let jobs = (0..<count).map { index in
                bench.job(
                    after: [1, 2, 1000].compactMap { step in
                        index + step < count ? NewDependency(on: .new(index + step)) : nil
                    })
            }
            let receipt = try await bench.enqueue(graph: jobs)
            let graph = try unwrap(try await bench.store.graph(receipt.graph!))
            try expectEqual(graph.counts[.ready], 1)
            try expectEqual(graph.counts[.blocked], 99_999)
            try expectEqual(try await bench.claim().map(\.lease.job), [receipt.jobs[count - 1]])
        },
    ]
}
