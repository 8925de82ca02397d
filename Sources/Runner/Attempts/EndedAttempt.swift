import Jobs

/// An attempt that has ended, until the store has recorded its end.
struct EndedAttempt {
    let attempt: RunningAttempt
    let ending: AttemptEnd.Ending
    /// The time from the attempt's start to its end; zero if it never started.
    let took: Duration
    var prepared: PreparedChildren?

    /// The wait until the next try; nil if there is none.
    var wait: Duration? {
        if case .retry(_, _, let wait) = ending { return wait }
        return nil
    }

    /// The amount of data that the exchange writes for this end.
    var weight: Int { prepared == nil ? ending.children.reduce(1) { $0 + $1.weight } : 1 }

    /// The end as the store records it.
    var end: AttemptEnd {
        AttemptEnd(
            lease: attempt.lease, ending: ending, connections: attempt.connections.json, usage: attempt.usage,
            prepared: prepared)
    }
}
