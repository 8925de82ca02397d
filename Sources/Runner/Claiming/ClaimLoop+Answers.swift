import Jobs
import OperationTypes

// MARK: Failed exchanges and lapsed lives

extension ClaimLoop {
    mutating func exchangeFailed(_ error: StoreError, _ now: Duration, _ actions: inout [Action]) {
        guard let failed = inFlight else { preconditionFailure("I1: an answer arrived without an exchange") }
        guard error.isPassing else { return fail(error, &actions) }
        if failed.batch.isLost || !error.isTransient {
            loseAnswer(of: failed)
        } else {
            takeBack(failed.batch)
        }
        // This proves progress: the store answered, although with an error, which the snapshot shows.
        if !failed.proofs.isEmpty { actions.append(.prove(failed.proofs, true)) }
        if case .interrupting(let until) = phase, until <= now { return fail(error, &actions) }
        backoff.failed(now: now)
    }

    mutating func answerLost(_ now: Duration, _ actions: inout [Action]) {
        guard let stored = inFlight else { preconditionFailure("I1: an answer arrived without an exchange") }
        loseAnswer(of: stored)
        if !stored.proofs.isEmpty { actions.append(.prove(stored.proofs, true)) }
        backoff.failed(now: now)
    }

    /// Asks for the answer of an exchange later (I10).
    private mutating func loseAnswer(of exchange: InFlight) {
        inFlight = nil
        unanswered = exchange
        unanswered?.proofs = []
        unanswered?.batch.isLost = true
    }

    mutating func exchangeUndone(_ actions: inout [Action]) {
        guard let undone = inFlight else { preconditionFailure("I1: an answer arrived without an exchange") }
        backoff = Backoff()
        takeBack(undone.batch)
        if !undone.proofs.isEmpty { actions.append(.prove(undone.proofs, true)) }
    }

    /// Sends the content of an exchange that was not stored once more.
    private mutating func takeBack(_ batch: Batch) {
        inFlight = nil
        ends = batch.ends + ends
        if batch.claim != nil { mayClaim = true }
    }

    /// Stops the attempts of the life, which may end soon (I9). Those that were asked to stop earlier have no more time
    /// than the others.
    mutating func lapse(within limit: Duration?, _ now: Duration, _ actions: inout [Action]) {
        holder = nil
        isLapsing = true
        for lease in runningLeases {
            stop(lease, .lapsed, now, &actions)
            guard let limit, let abandonAt = attempts[lease]?.abandonAt, now + limit < abandonAt else { continue }
            setAbandonment(of: lease, at: now + limit)
        }
    }

    mutating func endLapse(_ actions: inout [Action]) {
        guard isLapsing, inFlight == nil, unanswered == nil, ends.isEmpty, preparing.isEmpty else { return }
        if attempts.count > abandonedCount { return }
        isLapsing = false
        actions.append(.lapseOver)
    }

    mutating func fail(_ error: StoreError, _ actions: inout [Action]) {
        phase = .ended
        for lease in runningLeases where attempts[lease]?.stop == nil && attempts[lease]?.hasReturned == false {
            if let attempt = attempts[lease]?.attempt { actions.append(.stop(attempt, .interrupted)) }
        }
        let unproved = proofs + (inFlight?.proofs ?? [])
        if !unproved.isEmpty { actions.append(.prove(unproved, false)) }
        actions.append(.end(error))
    }
}
