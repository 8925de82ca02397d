import Jobs
import SQLite

/// Work that would delay every other write if it were one transaction. It is carried out in slices between the other
/// writes.
///
/// Invariants:
/// - L1: a row records that the work is open, from the transaction that promises it to the slice that ends it. The next
///   start resumes open work.
/// - L2: a slice and the record of its progress are one transaction, and a slice touches a bounded number of rows.
/// - L3: work whose slice fails for a persistent reason is set aside and tried again later; other work continues.
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

/// The results that long work returns to the caller waiting for it.
struct LongWorkReport: Sendable {
    /// The jobs of a written graph that were skipped at once.
    var skipped: [JobID] = []
    /// The results for the jobs of a cancelled graph.
    var cancelled: [JobID: CancelResult] = [:]
    /// How many jobs of a pruned graph were deleted; 0 if jobs outside the graph depend on it.
    var deleted = 0
}

extension Writer {
    /// The number of rows that one slice writes, which takes a few milliseconds.
    static let rowsPerSlice = 500

    /// A request that writes more rows than this is carried out in slices.
    static let manyRows = 2000

    /// Whether unfinished work can continue now. Work that is set aside is retried later.
    var isWorking: Bool { memory.work.contains { aside($0) == nil } }

    /// The work that is set aside, as described to people.
    var stuck: [StuckRequest] { setAside.values.map(\.request).sorted { $0.subject < $1.subject } }

    /// When the next slice may be carried out; nil when no work is open.
    var nextSliceAt: ContinuousClock.Instant? {
        var earliest: ContinuousClock.Instant?
        for work in memory.work {
            guard let aside = aside(work) else { return .now }
            earliest = min(earliest ?? aside.until, aside.until)
        }
        return earliest
    }

    /// Carries out one slice of the work that has waited longest and is not set aside.
    func carryOutSlice() throws(SQLiteError) {
        let now = ContinuousClock.now
        guard let index = memory.work.firstIndex(where: { aside($0).map { $0.until <= now } ?? true }) else { return }
        let work = memory.work.remove(at: index)
        sliced = work
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

    /// Why the work must wait; nil if it may continue. A cancellation waits until its graph is written.
    private func aside(_ work: LongWork) -> SetAside? {
        if let aside = setAside[work] { return aside }
        if case .cancelling(let graph) = work { return setAside[.writing(graph)] }
        return nil
    }

    /// Notes how the last slice ended (L3).
    func noteSlice(failure: StoreError?) {
        guard let work = sliced else { return }
        if let failure {
            let wait = min((setAside[work]?.wait).map { $0 * 2 } ?? .seconds(1), .seconds(300))
            setAside[work] = SetAside(
                request: StuckRequest(subject: subject(of: work), reason: failure), wait: wait, until: .now + wait)
            // Answers the callers, which would otherwise wait until the reason is gone. The work itself is durable.
            fail(work, failure)
            if case .writing(let graph) = work { fail(.cancelling(graph), failure) }
        } else {
            setAside[work] = nil
        }
    }

    private func fail(_ work: LongWork, _ failure: StoreError) {
        for waiter in waiters.removeValue(forKey: work) ?? [] { waiter.ended(.failure(failure)) }
    }

    private func subject(of work: LongWork) -> String {
        switch work {
        case .writing(let graph):
            memory.writing[graph]?.isGraph == false
                ? "request \(graph): some of its jobs cannot be written"
                : "graph \(graph): some of its jobs cannot be written"
        case .discarding(let graph): "request \(graph), which was not accepted, cannot be deleted"
        case .settling(let job): "job \(job): some of its dependents cannot be released"
        case .cancelling(let graph): "graph \(graph): some of its jobs cannot be cancelled"
        case .pruning(let graph): "graph \(graph): some of its jobs cannot be deleted"
        }
    }

    func open(_ work: LongWork) {
        if !memory.work.contains(work) { memory.work.append(work) }
    }

    // MARK: Waiting callers

    /// Registers a waiter for the end of the work. A request calls this in its transaction, and again if the
    /// transaction is repeated after a rollback. Work that is set aside is tried again at once, so that the waiter soon
    /// learns whether the reason persists.
    func wait(for work: LongWork, _ waiter: any LongWorkWaiter) {
        setAside[work]?.until = .now
        if case .cancelling(let graph) = work { setAside[.writing(graph)]?.until = .now }
        waiters[work, default: []].removeAll { $0 === waiter }
        waiters[work, default: []].append(waiter)
    }

    /// Answers the callers whose work the last slice ended. Called after the commit of a slice.
    func answerWaiters() {
        for work in endedWork {
            let report = unstored.reports.removeValue(forKey: work) ?? LongWorkReport()
            for waiter in waiters.removeValue(forKey: work) ?? [] { waiter.ended(.success(report)) }
        }
        endedWork = []
    }

    /// Answers all waiting callers. The work stays open for the next start.
    func dismissWaiters() {
        for waiter in waiters.values.joined() { waiter.ended(nil) }
        waiters = [:]
    }
}

/// Work whose last slice failed for a persistent reason.
struct SetAside {
    let request: StuckRequest
    /// The wait after the last failure: a second, doubled up to five minutes.
    let wait: Duration
    var until: ContinuousClock.Instant
}

/// A caller that waits for long work. It is answered once.
protocol LongWorkWaiter: AnyObject {
    /// - Parameter result: Nil if the store ended before the work did.
    func ended(_ result: Result<LongWorkReport, StoreError>?)
}
