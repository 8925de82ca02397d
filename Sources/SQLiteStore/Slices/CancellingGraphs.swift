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
            cancelling.insert.bind(1, graph.rawValue)
            cancelling.insert.bind(2, now.milliseconds)
            try cancelling.insert.run()
            memory.cancelling[graph] = CancellingGraph(askedAt: now, below: .max)
        }
        open(.cancelling(graph))
    }

    func cancelSlice(of graph: GraphID) throws(SQLiteError) -> Bool {
        guard let request = memory.cancelling[graph] else { return false }
        // Waits until the graph is written: a job without a row cannot be cancelled.
        if memory.writing[graph] != nil { return true }
        var jobs: [JobID] = []
        cancelling.openBelow.bind(1, graph.rawValue)
        cancelling.openBelow.bind(2, request.below)
        cancelling.openBelow.bind(3, Self.rowsPerSlice / 4)
        while try cancelling.openBelow.step() { jobs.append(JobID(cancelling.openBelow.integer(0))) }
        guard let last = jobs.last else {
            cancelling.forget.bind(1, graph.rawValue)
            try cancelling.forget.run()
            memory.cancelling[graph] = nil
            return false
        }
        try cancelAndSettle(jobs, now: request.askedAt) { job, result in
            unstored.reports[.cancelling(graph), default: LongWorkReport()].cancelled[job] = result
        }
        memory.cancelling[graph]?.below = last.rawValue
        cancelling.advance.bind(1, graph.rawValue)
        cancelling.advance.bind(2, last.rawValue)
        try cancelling.advance.run()
        return true
    }

    /// Carries out K1 for one job.
    ///
    /// - Returns: False if no request covers the job, or if it has already started.
    func cancelIfAsked(_ job: JobID, now: Timestamp) throws(SQLiteError) -> Bool {
        cancelling.job.bind(1, job.rawValue)
        guard try cancelling.job.step() else { return false }
        let graph = cancelling.job.optionalInteger(3).map(GraphID.init(_:))
        cancelling.job.reset()
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
    let askedAt: Timestamp
    /// The jobs with this number and higher numbers have been cancelled.
    var below: Int64
}
