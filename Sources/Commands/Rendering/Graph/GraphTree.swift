import Control
import Jobs

/// A graph as a tree, from what runs first to what waits for it.
///
/// A job with several dependencies is drawn below the first that is met and only named below the others. Works through
/// 100,000 jobs in a row without recursion.
struct GraphTree {
    var detail: GraphDetail
    var now: Timestamp

    /// Deeper levels stay at this indentation and tell their depth.
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
        // Whether more siblings follow, for each level that is open.
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

    /// For a stack: the first is on top.
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
