import Jobs

extension Check {
    static let reading: [Check] = [
        Check("whatWasWrittenIsReadAtOnce") { bench in
            for _ in 0..<20 {
                let job = try await bench.enqueue(bench.job())
                try expectEqual(try await bench.state(job), .ready)
            }
        },
        Check("listingsAreNarrowedByEveryField") { bench in
            try await bench.change(
                DefinitionChange(
                    queues: [QueueChange(name: "net")], definitions: [Definition(name: "get", kind: "http")]))
            let get = try unwrap(try await bench.store.definitions().definitions.first { $0.definition.name == "get" })
            var other = bench.job(queue: "net")
            other.definition = get.id
            let step = try await bench.enqueue(bench.job())
            let graph = try await bench.enqueue(graph: [other, bench.job()])
            func list(_ filter: JobFilter) async throws -> [JobID] { try await bench.store.jobs(filter).map(\.id) }
            try expectEqual(try await list(JobFilter()), [graph.jobs[1], graph.jobs[0], step])
            try expectEqual(try await list(JobFilter(order: .oldestFirst)), [step, graph.jobs[0], graph.jobs[1]])
            try expectEqual(try await list(JobFilter(queue: "net")), [graph.jobs[0]])
            try expectEqual(try await list(JobFilter(queue: "nowhere")), [])
            try expectEqual(try await list(JobFilter(definition: "get")), [graph.jobs[0]])
            try expectEqual(try await list(JobFilter(definition: "nothing")), [])
            try expectEqual(try await list(JobFilter(kind: "http")), [graph.jobs[0]])
            try expectEqual(try await list(JobFilter(graph: graph.graph)), [graph.jobs[1], graph.jobs[0]])
            try expectEqual(
                try await list(JobFilter(queue: "default", graph: graph.graph, order: .oldestFirst)), [graph.jobs[1]])
            try expectEqual(try await list(JobFilter(states: [])), [])
        },
        Check("listingsByStateFindEachState") { bench in
            try await bench.change(QueueChange(name: "default", limit: 3))
            var expected: [JobState: [JobID]] = [:]
            for state in [JobState.succeeded, .failed, .cancelled] {
                for _ in 0..<2 {
                    expected[state, default: []].append(try await bench.enqueue(bench.job()))
                    switch state {
                    case .succeeded: try await bench.runOne()
                    case .failed: try await bench.runOne(.failed(.broken))
                    default: try await bench.runOne(.cancelled)
                    }
                }
            }
            let failed = expected[.failed]![0]
            for _ in 0..<2 {
                expected[.skipped, default: []].append(
                    try await bench.enqueue(bench.job(after: [.existing(failed)])))
            }
            for _ in 0..<3 { expected[.running, default: []].append(try await bench.enqueue(bench.job())) }
            _ = try await bench.claim()
            for index in 0..<2 {
                expected[.ready, default: []].append(
                    try await bench.enqueue(bench.job(priority: index == 0 ? .low : .high)))
                expected[.scheduled, default: []].append(
                    try await bench.enqueue(bench.job(dueAt: bench.now + .seconds(9 - index))))
                let running = expected[.running]![0]
                expected[.blocked, default: []].append(
                    try await bench.enqueue(bench.job(after: [.existing(running)])))
            }
            for state in JobState.allCases {
                let jobs = expected[state]!
                let oldest = try await bench.store.jobs(JobFilter(states: [state], order: .oldestFirst))
                try expectEqual(oldest.map(\.id), jobs, "\(state), oldest first:")
                let newest = try await bench.store.jobs(JobFilter(states: [state]))
                try expectEqual(newest.map(\.id), jobs.reversed(), "\(state), newest first:")
                let rest = try await bench.store.jobs(JobFilter(states: [state], after: jobs[0], order: .oldestFirst))
                try expectEqual(rest.map(\.id), Array(jobs.dropFirst()), "\(state), after the first:")
                let one = try await bench.store.jobs(JobFilter(states: [state], limit: 1))
                try expectEqual(one.map(\.id), [jobs.last!], "\(state), one:")
            }
            let some = try await bench.store.jobs(JobFilter(states: [.ready, .failed, .running]))
            let expectedSome = (expected[.ready]! + expected[.failed]! + expected[.running]!).sorted(by: >)
            try expectEqual(some.map(\.id), expectedSome)
            let counts = try unwrap(try await bench.store.queues().first).counts
            for state in JobState.allCases {
                try expectEqual(counts[state], Int64(expected[state]!.count), "\(state):")
            }
        },
        Check("aPageOfOneStateIsMergedFromQueuesAndPriorities") { bench in
            try await bench.change(DefinitionChange(queues: [QueueChange(name: "net")]))
            var ready: [JobID] = []
            for index in 0..<12 {
                ready.append(
                    try await bench.enqueue(
                        bench.job(
                            queue: index % 3 == 0 ? "net" : "default", priority: Priority.allCases[index * 7 % 5])))
                _ = try await bench.enqueue(bench.job(dueAt: bench.now + .seconds(99 - index)))
            }
            for order in [JobFilter.Order.oldestFirst, .newestFirst] {
                var filter = JobFilter(states: [.ready], order: order, limit: 5)
                var found: [JobID] = []
                while true {
                    let page = try await bench.store.jobs(filter)
                    found += page.map(\.id)
                    guard filter.mayContinue(after: page) else { break }
                    filter.after = page.last?.id
                }
                try expectEqual(found, order == .oldestFirst ? ready : ready.reversed())
            }
            let both = try await bench.store.jobs(
                JobFilter(states: [.ready, .scheduled], order: .oldestFirst, limit: 7))
            try expectEqual(both.map(\.id), (0..<7).map { JobID(ready[0].rawValue + $0) })
        },
        Check("aPageEndsWhenItsInputsAreLarge") { bench in
            let input = JSONText(string: String(repeating: "x", count: JSONText.maxBytes - 2))
            for _ in 0..<10 { _ = try await bench.enqueue(bench.job(input: input)) }
            var filter = JobFilter(order: .oldestFirst)
            let first = try await bench.store.jobs(filter)
            try expectEqual(first.count, 8)
            try expect(filter.mayContinue(after: first), "there is more")
            filter.after = first.last?.id
            let second = try await bench.store.jobs(filter)
            try expectEqual(second.count, 2)
            try expect(!filter.mayContinue(after: second), "there is no more")
            let small = try await bench.store.jobs(JobFilter(withInputs: false))
            try expectEqual(small.count, 10)
            try expect(small.allSatisfy { $0.input == nil }, "inputs are left out")
        },
        Check("listingsPageByNumber") { bench in
            let receipt = try await bench.enqueue(graph: Array(repeating: bench.job(), count: 5))
            let first = try await bench.store.jobs(JobFilter(limit: 2)).map(\.id)
            try expectEqual(first, [receipt.jobs[4], receipt.jobs[3]])
            let second = try await bench.store.jobs(JobFilter(graph: receipt.graph, after: first.last, limit: 2)).map(
                \.id)
            try expectEqual(second, [receipt.jobs[2], receipt.jobs[1]])
            let up = try await bench.store.jobs(JobFilter(after: receipt.jobs[2], order: .oldestFirst)).map(\.id)
            try expectEqual(up, [receipt.jobs[3], receipt.jobs[4]])
        },
        Check("graphsAreListedNewestFirst") { bench in
            var graphs: [GraphID] = []
            for name in ["a", "b", "c"] {
                graphs.append(try await bench.enqueue(graph: [bench.job()], name: name).graph!)
            }
            _ = try await bench.enqueue(bench.job())
            try expectEqual(try await bench.store.graphs(limit: 2, before: nil).map(\.name), ["c", "b"])
            try expectEqual(try await bench.store.graphs(limit: 2, before: graphs[1]).map(\.name), ["a"])
            let record = try unwrap(try await bench.store.graph(graphs[0]))
            try expectEqual(record.enqueuedAt, bench.now)
            try expectEqual(record.counts[.ready], 1)
        },
        Check("whatIsNotThereIsNil") { bench in
            try expectEqual(try await bench.store.job(JobID(5)), nil)
            try expectEqual(try await bench.store.result(of: JobID(5)), nil)
            try expectEqual(try await bench.store.graph(GraphID(5)), nil)
            try expectEqual(try await bench.store.definition(DefinitionID(5)), nil)
            try expectEqual(try await bench.store.attempts(of: JobID(5)), [])
            try expectEqual(try await bench.dependencies(of: JobID(5)), [])
            try expectEqual(try await bench.outputs(of: JobID(5)), [])
        },
        Check("aPayloadOfOneMebibyteComesBackByteForByte") { bench in
            let text = JSONText(
                trusted: [UInt8(ascii: "\"")] + [UInt8](repeating: UInt8(ascii: "x"), count: JSONText.maxBytes - 4)
                    + Array("é\"".utf8).suffix(3))
            try expectEqual(text.bytes.count, JSONText.maxBytes)
            let job = try await bench.enqueue(bench.job(input: text))
            try await bench.runOne(.succeeded(text))
            try expectEqual(try await bench.record(job).input, text)
            try expectEqual(try await bench.result(job).value, .succeeded(text))
        },
        Check("aClosedStoreSaysSo") { bench in
            try await bench.end()
            do {
                _ = try await bench.store.enqueue([], now: bench.now)
                throw Violation(description: "expected the closed store to refuse")
            } catch let error as StoreError {
                try expectEqual(error, .closed)
            }
            do {
                _ = try await bench.store.job(JobID(1))
                throw Violation(description: "expected the closed store to refuse")
            } catch let error as StoreError {
                try expectEqual(error, .closed)
            }
        },
    ]
}
