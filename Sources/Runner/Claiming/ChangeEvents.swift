import Jobs

extension ClaimLoop.Event {
    /// Derives the loop's events from the changes of one commit: whether jobs became ready, the next due time, and the
    /// running jobs to cancel.
    static func events(of changes: [JobChange]) -> [ClaimLoop.Event] {
        var events: [ClaimLoop.Event] = []
        var ready: Set<JobID> = []
        var due: Timestamp?
        for change in changes {
            if change.isCancelRequest {
                events.append(.cancelRequested(change.job))
                continue
            }
            switch change.state {
            case .ready: ready.insert(change.job)
            // The job was claimed by our own exchange in the same commit.
            case .running where !ready.isEmpty: ready.remove(change.job)
            case .scheduled:
                if let dueAt = change.dueAt { due = min(due ?? dueAt, dueAt) }
            default: break
            }
        }
        if let due { events.append(.due(due)) }
        if !ready.isEmpty { events.append(.wake) }
        return events
    }
}
