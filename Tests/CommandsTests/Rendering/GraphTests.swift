import ControlProtocol
import Jobs
import Testing

@testable import Commands

@Suite struct GraphTests {
    @Test func aGraphIsATree() throws {
        try Golden.expect(
            Capture.text { try GraphTree(detail: Samples.graph, now: Samples.now).write(to: $0) }, "graph-tree.txt")
    }

    @Test func aGraphIsADotFile() throws {
        try Golden.expect(Capture.text { try GraphDiagram.writeDot(Samples.graph, to: $0) }, "graph.dot")
    }

    @Test func aGraphIsAMermaidChart() throws {
        try Golden.expect(Capture.text { try GraphDiagram.writeMermaid(Samples.graph, to: $0) }, "graph.mermaid")
    }

    @Test func aLongChainIsDrawnWithoutRecursion() throws {
        let count: Int64 = 20_000
        let jobs = (1...count).map { Samples.job($0, .succeeded, graph: 1) }
        let edges = (2...count).map {
            DependencyRecord(dependent: JobID($0), dependency: JobID($0 - 1), condition: .succeeded)
        }
        var counts = StateCounts()
        counts[.succeeded] = count
        let detail = GraphDetail(
            graph: GraphRecord(
                id: GraphID(1), name: nil, enqueuedAt: Samples.now, finishedAt: Samples.now, counts: counts),
            jobs: jobs, edges: edges)
        let text = try Capture.text { try GraphTree(detail: detail, now: Samples.now).write(to: $0) }
        let lines = text.split(separator: "\n")
        #expect(lines.count == Int(count) + 3)
        #expect(lines.last?.contains("⋯19999 └─ ✓ unfurl 20000") == true)
    }
}
