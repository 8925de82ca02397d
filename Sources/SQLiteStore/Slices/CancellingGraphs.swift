import Jobs
import SQLite

/// Cancels a graph with very many open jobs from its last job to its first, so that dependents, which usually have the
/// higher numbers, are cancelled before their dependencies.
///
/// - K1: from the request on, a job of the graph that would start or be skipped is cancelled instead.
extension Writer {
    /// Whether a cancellation that takes several transactions is in progress.
    var isCancelling: Bool { !memory.cancelling.isEmpty || !unstored.cancelledTogether.isEmpty }

    func beginCancelling(_ graph: GraphID, now: Timestamp) throws(SQLiteError) {
        if memory.cancelling[graph] == nil {
            try cancelling.insert.run([.graph <- graph, .now <- now])
            memory.cancelling[graph] = CancellingGraph(requestedAt: now, below: JobID(.max))
        }
        open(.cancelling(graph))
    }

    func cancelSlice(of graph: GraphID) throws(SQLiteError) -> Bool {
        guard let request = memory.cancelling[graph] else { return false }
        // Waits until the graph is written: a job without a row cannot be cancelled.
        if memory.writing[graph] != nil { return true }
        let jobs = try cancelling.openBelow.all(
            [.graph <- graph, .below <- request.below, .limit <- Self.rowsPerSlice / 4]) { $0.job(0) }
        guard let last = jobs.last else {
            try cancelling.forget.run([.graph <- graph])
            memory.cancelling[graph] = nil
            return false
        }
        try cancelAndSettle(jobs, now: request.requestedAt) { job, result in
            unstored.reports[.cancelling(graph), default: LongWorkReport()].cancelled[job] = result
        }
        memory.cancelling[graph]?.below = last
        try cancelling.advance.run([.graph <- graph, .below <- last])
        return true
    }

    /// Carries out K1 for one job.
    ///
    /// - Returns: False if no request covers the job, or if it has already started.
    func cancelIfAsked(_ job: JobID, now: Timestamp) throws(SQLiteError) -> Bool {
        guard let graph = try cancelling.job.first([.job <- job], { $0.graph(3) }) else { return false }
        let isAsked = graph.map { memory.cancelling[$0] != nil } ?? false
        let joint = unstored.cancelledTogether.indices.filter { unstored.cancelledTogether[$0].jobs.contains(job) }
        guard isAsked || !joint.isEmpty, try cancelAlone(job, now: now) == .cancelled else { return false }
        for index in joint { unstored.cancelledTogether[index].early.insert(job) }
        if isAsked, let graph {
            unstored.reports[.cancelling(graph), default: LongWorkReport()].cancelled[job] = .cancelled
        }
        return true
    }
}

struct CancellingGraph {
    let requestedAt: Timestamp
    /// The jobs with this number and higher numbers have been cancelled.
    var below: JobID
}
