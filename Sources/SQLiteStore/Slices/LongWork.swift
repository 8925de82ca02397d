import Jobs
import SQLite

/// Work that would hold up every other write if it were one transaction, and so is carried out in slices between them.
///
/// Invariants:
/// - L1: a row says that the work is open, from the transaction that promised it to the slice that ends it. A start resumes
///   what is open.
/// - L2: a slice and its progress are one transaction, and a slice touches a bounded number of rows.
enum LongWork: Hashable, Sendable {
    /// The jobs of an accepted graph are being written.
    case writing(GraphID)
    /// The parts of a graph that was never accepted are being deleted.
    case discarding(GraphID)
    /// The dependents of a final job are being released or skipped.
    case settling(JobID)
    /// The open jobs of a graph are being cancelled.
    case cancelling(GraphID)
    /// The final jobs of a graph are being deleted.
    case pruning(GraphID)
}

/// What a caller that waits for long work learns at its end.
struct LongWorkReport: Sendable {
    /// Of a graph that was written: the jobs that were skipped at once.
    var skipped: [JobID] = []
    /// Of a graph that was cancelled.
    var cancelled: [JobID: CancelResult] = [:]
    /// Of a graph that was pruned; 0 when jobs outside depend on it.
    var deleted = 0
}

extension Writer {
    /// Rows in one slice: a few milliseconds.
    static let rowsPerSlice = 500

    /// A request of more rows than this is carried out in slices.
    static let manyRows = 2000

    var hasLongWork: Bool { !memory.work.isEmpty }

    /// Carries out one slice of the work that has waited longest.
    func carryOutSlice() throws(SQLiteError) {
        guard !memory.work.isEmpty else { return }
        let work = memory.work.removeFirst()
        let isOpen =
            switch work {
            case .writing(let graph): try writePart(of: graph)
            case .discarding(let graph): try discardPart(of: graph)
            case .settling(let job): try resumeSettling(job)
            case .cancelling(let graph): try cancelSlice(of: graph)
            case .pruning(let graph): try pruneSlice(of: graph)
            }
        if isOpen { open(work) } else { endedWork.append(work) }
    }

    func open(_ work: LongWork) {
        if !memory.work.contains(work) { memory.work.append(work) }
    }

    // MARK: Callers that wait

    /// Called by a request within its transaction, which may run again after a rollback.
    func wait(for work: LongWork, _ waiter: any LongWorkWaiter) {
        waiters[work, default: []].removeAll { $0 === waiter }
        waiters[work, default: []].append(waiter)
    }

    /// After the commit of a slice: tells those who waited for what it ended.
    func answerWaiters() {
        for work in endedWork {
            let report = reports.removeValue(forKey: work) ?? LongWorkReport()
            for waiter in waiters.removeValue(forKey: work) ?? [] { waiter.ended(.success(report)) }
        }
        endedWork = []
    }

    /// The work stays open for the next start.
    func dismissWaiters(_ reason: StoreError) {
        for waiter in waiters.values.joined() { waiter.ended(.failure(reason)) }
        waiters = [:]
    }
}

/// A caller that waits for long work. Told once.
protocol LongWorkWaiter: AnyObject {
    func ended(_ result: Result<LongWorkReport, StoreError>)
}
