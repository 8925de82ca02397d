import Jobs
import Testing

/// Plans of random graphs.
@Suite struct RandomGraphTests {
    private func graph(_ edges: [[Int]]) -> Submission {
        let jobs = edges.enumerated().map { index, after in
            JobRequest(node: "n\(index)", definition: "raw", after: after.map { .init(.node("n\($0)")) })
        }
        return Submission(.jobs(jobs, name: nil))
    }

    /// Whether all nodes can be taken away, each after those it waits for.
    private func hasCycle(_ edges: [[Int]]) -> Bool {
        var left = Set(edges.indices)
        while let free = left.first(where: { node in edges[node].allSatisfy { !left.contains($0) } }) {
            left.remove(free)
        }
        return !left.isEmpty
    }

    @Test func planRefusesAGraphIfAndOnlyIfItHasACycle() {
        var random = SeededGenerator()
        var cycles = 0
        for _ in 0..<2000 {
            let count = Int.random(in: 1...12, using: &random)
            var edges = [Set<Int>](repeating: [], count: count)
            for _ in 0..<Int.random(in: 0...count, using: &random) {
                edges[Int.random(in: 0..<count, using: &random)].insert(Int.random(in: 0..<count, using: &random))
            }
            let lists = edges.map { $0.shuffled(using: &random) }
            do throws(RequestProblem) {
                let plan = try Fixtures.catalog.plan(graph(lists))
                #expect(!hasCycle(lists), "seed \(random.seed): \(lists)")
                let planned = plan.jobs.map { $0.dependencies.map(\.job) }
                #expect(planned == lists.map { $0.map { .new($0) } }, "seed \(random.seed)")
            } catch {
                cycles += 1
                guard case .badGraph(.cycle(let nodes)) = error else {
                    Issue.record("seed \(random.seed): \(error)")
                    continue
                }
                let path = nodes.compactMap { Int($0.dropFirst()) }
                for (index, node) in path.enumerated() {
                    let before = path[(index + path.count - 1) % path.count]
                    #expect(lists[node].contains(before), "seed \(random.seed): \(lists) \(nodes)")
                }
                #expect(Set(path).count == path.count && !path.isEmpty, "seed \(random.seed)")
            }
        }
        #expect((200..<1800).contains(cycles), "the generator no longer makes both sorts; seed \(random.seed)")
    }

    @Test func longChainNeedsNoStack() throws {
        let plan = try Fixtures.catalog.plan(
            graph((0..<100_000).map { $0 + 1 < 100_000 ? [$0 + 1] : [] }))
        #expect(plan.jobs.count == 100_000)
    }

    @Test func wideGraphIsPlannedWhole() throws {
        let count = 20_000
        let plan = try Fixtures.catalog.plan(
            graph((0..<count).map { $0 == 0 ? Array(1..<count) : [] }))
        #expect(plan.jobs[0].dependencies.count == count - 1)
    }
}
