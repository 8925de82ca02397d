extension JobStore {
    /// The default for stores that write every accepted job at once: there are no unwritten jobs.
    public func unwritten(from position: UnwrittenPage.Position?) async throws(StoreError) -> UnwrittenPage {
        UnwrittenPage(jobs: [], next: nil)
    }

    /// The default for stores whose reads cost little.
    public func existing(_ jobs: [JobID]) async throws(StoreError) -> Set<JobID> {
        var found: Set<JobID> = []
        for id in jobs where try await job(id) != nil { found.insert(id) }
        return found
    }

    /// The default for stores with one holder, which is never drained.
    public func setDrained(_ isDrained: Bool, identity: String, now: Timestamp) async throws(StoreError) -> Bool {
        false
    }

    /// The default for stores with one holder: every job can run there.
    public func home(of job: JobID) async throws(StoreError) -> JobHome? { nil }
    public func kinds(registeredBy identity: String) async throws(StoreError) -> [KindDescription] {
        try await definitions().kinds
    }

    /// The default for stores that do not prepare children: nil.
    public func prepare(_ children: [NewGraph]) async throws(StoreError) -> PreparedChildren? { nil }

    /// Zero, for stores that use the callers' time.
    public var clockOffset: Duration { .zero }

    /// Changes a queue whatever the other settings are.
    ///
    /// - Returns: The queue after the change.
    /// - Throws: ``StoreError``. Retrying is safe.
    @discardableResult
    public func change(_ queue: QueueChange, now: Timestamp) async throws(StoreError) -> QueueRecord {
        switch try await change(queue, checkedAt: nil, now: now) {
        case .changed(let record): return record
        case .outdated: preconditionFailure("a change without a version is never outdated")
        }
    }

    /// Writes definitions, schedules and queues whatever the current ones are.
    ///
    /// - Throws: ``StoreError``, also ``StoreError/tooManySchedules(limit:)``. Retrying is safe.
    public func change(_ definitions: DefinitionChange, now: Timestamp) async throws(StoreError) {
        _ = try await change(definitions, checkedAt: nil, now: now)
    }

    /// Reads a complete listing, up to the filter's limits; ``JobFilter/mayContinue(after:)`` says whether more jobs may
    /// follow.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    public func jobs(_ filter: JobFilter) async throws(StoreError) -> [JobRecord] {
        var listing = JobListing(filter)
        var jobs: [JobRecord] = []
        repeat { jobs += try await listing.next(from: self) } while !listing.isOver
        return jobs
    }

    /// Reads all edges whose dependent is in the graph.
    ///
    /// - Throws: ``StoreError``; reading again is safe.
    public func edges(of graph: GraphID) async throws(StoreError) -> [DependencyRecord] {
        var edges: [DependencyRecord] = []
        var next: EdgePosition?
        repeat {
            let page = try await self.edges(of: graph, after: next, limit: EdgePage.maxEdges)
            edges += page.edges
            next = page.next
        } while next != nil
        return edges
    }
}

/// An observation, which ends when it is cancelled or dropped.
public final class StoreObservation: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Creates an observation. `onCancel` may be called more than once.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Ends the observation. The observer may still be running one last time when this returns.
    public func cancel() { onCancel() }

    deinit { onCancel() }
}
