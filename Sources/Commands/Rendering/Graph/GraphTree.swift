import ControlProtocol
import Jobs

/// Prints a graph as a tree, from the jobs that run first to the jobs that wait for them.
///
/// A job with several dependencies is drawn below the first one in the output, and only named below the others.
/// It uses no recursion, so it can draw a chain of 100,000 jobs.
struct GraphTree {
    var detail: GraphDetail
    var now: Timestamp

    /// Deeper levels keep this indentation and show their depth as a number.
    private static let maxDepth = 24

    private struct Item {
        var edge: GraphShape.Edge
        var depth: Int
        var isLast: Bool
    }

    func write(to output: Output) throws {
        let graph = detail.graph
        let name: StyledText = graph.name.map { "  \($0, .bold)" } ?? StyledText()
        try output.line("\("graph \(graph.id)", .bold)" + name + "  " + graph.counts.text)
        try output.line("enqueued \(TimeText.both(graph.enqueuedAt, now: now))")
        if let finishedAt = graph.finishedAt { try output.line("finished \(TimeText.both(finishedAt, now: now))") }

        let shape = GraphShape(detail)
        var drawn: Set<JobID> = []
        // Whether more siblings follow, for each open level.
        var continues: [Bool] = []
        var pending = items(shape.roots.map { .init(job: $0, condition: .succeeded) }, depth: 0)
        while let item = pending.popLast() {
            continues.removeSubrange(min(item.depth, continues.count)...)
            var line = indentation(item, continues)
            continues.append(!item.isLast)
            guard let job = shape.jobs[item.edge.job] else { continue }
            guard drawn.insert(job.id).inserted else {
                try output.line(line + "\("↑ \(job.title) \(job.id)", .dim)" + suffix(item.edge))
                continue
            }
            line +=
                "\(job.state.mark, job.state.style) \(job.title, .bold) \(job.id)  \(job.state.name, job.state.style)"
            let when = JobTable.when(job, now: now)
            if !when.isEmpty { line += "  \(when.plain, .dim)" }
            try output.line(line + suffix(item.edge) + outside(shape.outside[job.id] ?? []))
            pending += items(shape.dependents[job.id] ?? [], depth: item.depth + 1)
        }
    }

    /// Returns items for a stack, with the first one on top.
    private func items(_ edges: [GraphShape.Edge], depth: Int) -> [Item] {
        edges.enumerated().reversed().map { index, edge in
            Item(edge: edge, depth: depth, isLast: index == edges.count - 1)
        }
    }

    private func indentation(_ item: Item, _ continues: [Bool]) -> StyledText {
        if item.depth == 0 { return StyledText() }
        var text = ""
        for level in continues.dropFirst().prefix(Self.maxDepth) { text += level ? "│  " : "   " }
        if item.depth > Self.maxDepth { text += "⋯\(item.depth) " }
        return "\(text + (item.isLast ? "└─ " : "├─ "), .dim)"
    }

    private func suffix(_ edge: GraphShape.Edge) -> StyledText {
        edge.condition == .succeeded ? StyledText() : "  \("(\(edge.condition.name))", .dim)"
    }

    private func outside(_ edges: [GraphShape.Edge]) -> StyledText {
        guard !edges.isEmpty else { return StyledText() }
        let jobs = edges.map { $0.condition == .succeeded ? "\($0.job)" : "\($0.job) (\($0.condition.name))" }
        return "  \("after job \(jobs.joined(separator: ", "))", .dim)"
    }
}
