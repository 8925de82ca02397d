import Jobs
import PostgreSQL

extension PostgresJobStore {
    /// Reads of more than 1,000 rows use the thread for listings, so that running jobs do not wait for them.
    private func thread(forRows limit: Int) -> RequestThread<Reader> { limit > 1000 ? listing : reading }

    public func definitions() async throws(StoreError) -> DefinitionSet {
        try await reading.perform { (reader) throws(PostgresError) in try reader.definitionSet() }
    }

    public func definition(_ id: DefinitionID) async throws(StoreError) -> StoredDefinition? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.definition(id) }
    }

    public func outcome(of key: IdempotencyKey) async throws(StoreError) -> EnqueueOutcome? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.outcome(of: key) }
    }

    public func job(_ id: JobID) async throws(StoreError) -> JobRecord? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.job(id) }
    }

    public func kinds(registeredBy identity: String) async throws(StoreError) -> [KindDescription] {
        try await reading.perform { (reader) throws(PostgresError) in try reader.kinds(registeredBy: identity) }
    }

    public func home(of job: JobID) async throws(StoreError) -> JobHome? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.home(of: job) }
    }

    public func existing(_ jobs: [JobID]) async throws(StoreError) -> Set<JobID> {
        try await listing.perform { (reader) throws(PostgresError) in try reader.existing(jobs) }
    }

    public func page(_ filter: JobFilter) async throws(StoreError) -> JobPage {
        try await listing.perform { (reader) throws(PostgresError) in try reader.page(filter) }
    }

    public func result(of job: JobID) async throws(StoreError) -> JobResult? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.result(of: job) }
    }

    public func attempts(of job: JobID) async throws(StoreError) -> [AttemptRecord] {
        try await reading.perform { (reader) throws(PostgresError) in try reader.attempts(of: job) }
    }

    public func checkpoint(of job: JobID) async throws(StoreError) -> Checkpoint? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.checkpoint(of: job) }
    }

    public func dependencies(
        of job: JobID, onlyOpen: Bool, limit: Int
    ) async throws(StoreError) -> Neighbours {
        try await thread(forRows: limit).perform { (reader) throws(PostgresError) in
            try reader.dependencies(of: job, onlyOpen: onlyOpen, limit: limit)
        }
    }

    public func dependents(of job: JobID, limit: Int) async throws(StoreError) -> [Neighbour] {
        try await thread(forRows: limit).perform { (reader) throws(PostgresError) in
            try reader.dependents(of: job, limit: limit)
        }
    }

    public func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) async throws(StoreError) -> DependencyOutputs {
        try await reading.perform { (reader) throws(PostgresError) in
            try reader.outputs(ofDependenciesOf: job, wanted, maxBytes: maxBytes)
        }
    }

    public func graph(_ id: GraphID) async throws(StoreError) -> GraphRecord? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.graph(id) }
    }

    public func graphs(limit: Int, before: GraphID?) async throws(StoreError) -> [GraphRecord] {
        try await listing.perform { (reader) throws(PostgresError) in
            try reader.graphs(limit: limit, before: before)
        }
    }

    public func edges(
        of graph: GraphID, after: EdgePosition?, limit: Int
    ) async throws(StoreError) -> EdgePage {
        try await listing.perform { (reader) throws(PostgresError) in
            try reader.edges(of: graph, after: after, limit: limit)
        }
    }

    public func queues() async throws(StoreError) -> [QueueRecord] {
        try await reading.perform { (reader) throws(PostgresError) in try reader.queues() }
    }

    public func counts() async throws(StoreError) -> StateCounts {
        try await reading.perform { (reader) throws(PostgresError) in try reader.counts() }
    }

    public func nextDueAt() async throws(StoreError) -> Timestamp? {
        try await reading.perform { (reader) throws(PostgresError) in try reader.nextDueAt() }
    }

    public func isAtRest(now: Timestamp) async throws(StoreError) -> Bool {
        let (queues, dueAt, now) = try await reading.perform { (reader) throws(PostgresError) in
            (try reader.queues(), try reader.nextDueAt(), try reader.now(now))
        }
        if queues.contains(where: { $0.counts[.running] > 0 }) { return false }
        if queues.contains(where: { $0.pausedAt == nil && $0.counts[.ready] > 0 }) { return false }
        return dueAt.map { $0 > now } ?? true
    }
}
