import Jobs
import OperationTypes
import Synchronization

/// A store with a definition to enqueue, a clock that the check controls, and short forms of the calls that checks
/// repeat.
final class Workbench: Sendable {
    private let opened: Mutex<any JobStore>
    private let source: StoreSource
    /// The number of the definition `step`.
    let step: DefinitionID
    let clock: ContractClock
    private let name: Holder

    private let life: Mutex<HolderID>

    var store: any JobStore { opened.withLock(\.self) }
    /// The life in which the bench claims jobs.
    var holder: HolderID { life.withLock(\.self) }
    var now: Timestamp { clock.wall }

    init(_ source: StoreSource) async throws {
        self.source = source
        clock = ContractClock(Timestamp(milliseconds: 1_750_000_000_000))
        name = .bench
        let store = try await source.open(clock)
        try expectEqual(store.capabilities, source.capabilities, "the store's capabilities:")
        opened = Mutex(store)
        life = Mutex(try await store.begin(.bench, now: clock.wall).id)
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: clock.wall)
        step = try unwrap(try await store.definitions().definitions.first { $0.definition.name == "step" }).id
    }

    /// Opens the bench's database a second time, as another daemon does.
    init(beside other: Workbench, as holder: Holder) async throws {
        (source, clock, step, name) = (other.source, other.clock, other.step, holder)
        let store = try await source.open(clock)
        opened = Mutex(store)
        life = Mutex(try await store.begin(holder, now: clock.wall).id)
    }

    /// Ends the store and opens its database again, as a restart of the process does, and begins the next life of its
    /// holder. The clock does not change.
    func restart() async throws {
        try await end()
        let store = try await source.open(clock)
        opened.withLock { $0 = store }
        try await begin()
    }

    /// Begins the next life of the bench's holder.
    @discardableResult
    func begin() async throws -> HolderLife {
        let next = try await store.begin(name, now: now)
        life.withLock { $0 = next.id }
        return next
    }

    /// Ends the store.
    func end() async throws { try await source.end(store) }

    /// Lets time pass.
    func advance(_ duration: Duration) { clock.advance(duration) }

    // MARK: Enqueueing

    /// Creates a definition of this kind, with the kind's name.
    func define(kind: String) async throws -> DefinitionID {
        try await change(DefinitionChange(definitions: [Definition(name: kind, kind: kind)]))
        return try unwrap(try await store.definitions().definitions.first { $0.definition.name == kind }).id
    }

    func job(
        after dependencies: [NewDependency] = [], node: String? = nil, input: JSONText? = nil,
        queue: String = "default",
        priority: Priority = .normal, dueAt: Timestamp? = nil, wait: Duration? = nil, definition: DefinitionID? = nil
    ) -> NewJob {
        NewJob(
            definition: definition ?? step, node: node, input: input, queue: queue, priority: priority,
            start: dueAt.map { .at($0) } ?? wait.map { .after($0) } ?? .now,
            dependencies: dependencies)
    }

    var dependencyThatIsNot: NewDependency { NewDependency(on: .existing(JobID(999_999))) }

    func enqueue(_ job: NewJob) async throws -> JobID {
        let receipt = try await enqueue(NewGraph(isGraph: false, jobs: [job]))
        return receipt.jobs[0]
    }

    func enqueue(
        graph jobs: [NewJob], name: String? = nil, key: IdempotencyKey? = nil
    ) async throws -> EnqueueReceipt {
        try await enqueue(NewGraph(name: name, isGraph: true, jobs: jobs, key: key))
    }

    func enqueue(_ graph: NewGraph) async throws -> EnqueueReceipt {
        try receipt(of: try await store.enqueue([graph], now: now)[0])
    }

    func receipt(of outcome: EnqueueOutcome) throws -> EnqueueReceipt {
        guard case .enqueued(let receipt) = outcome else {
            throw Violation(description: "expected the graph to be enqueued, found \(outcome)")
        }
        return receipt
    }

    func refusal(of graph: NewGraph) async throws -> EnqueueProblem {
        let outcome = try await store.enqueue([graph], now: now)[0]
        guard case .refused(let refusal) = outcome else {
            throw Violation(description: "expected a refusal, found \(outcome)")
        }
        return refusal
    }

    // MARK: Running

    func exchange(_ ends: [AttemptEnd], claim: ClaimRequest? = nil) async throws -> Exchange {
        try await store.exchange(ends, claim: claim, by: holder, now: now)
    }

    func exchange(slots: Int, ageing: Duration = .seconds(300)) async throws -> Exchange {
        try await exchange([], claim: ClaimRequest(slots: slots, ageing: ageing))
    }

    /// Claims until the store has found a job, or has looked at all.
    func claim(_ request: ClaimRequest) async throws -> [ClaimedJob] {
        for _ in 0..<100 {
            let exchange = try await exchange([], claim: request)
            let isOver = exchange.nextDueAt.map { $0 > now } ?? true
            if isOver || !exchange.claimed.isEmpty { return exchange.claimed }
        }
        throw Violation(description: "the store asks for another claim without end")
    }

    func claim(_ slots: Int = 100, ageing: Duration = .seconds(300)) async throws -> [ClaimedJob] {
        try await exchange(slots: slots, ageing: ageing).claimed
    }

    func claimOne() async throws -> ClaimedJob {
        try unwrap(try await claim(1).first, "a job to claim")
    }

    /// Enqueues a job and claims it. There must be no other job to claim.
    func startJob() async throws -> (job: JobID, lease: Lease) {
        let job = try await enqueue(job())
        let lease = try await claimOne().lease
        try expectEqual(lease.job, job)
        return (job, lease)
    }

    @discardableResult
    func end(
        _ lease: Lease, _ ending: AttemptEnd.Ending, connections: JSONText? = nil, usage: AttemptUsage? = nil
    ) async throws -> FinishResult {
        let end = AttemptEnd(lease: lease, ending: ending, connections: connections, usage: usage)
        return try await exchange([end]).finished[0]
    }

    /// Saves a checkpoint. The lease must stand.
    func save(_ value: JSONText, under lease: Lease) async throws {
        let results = try await store.save([CheckpointSave(lease: lease, value: value)], by: holder, now: now)
        try expectEqual(results, [.saved])
    }

    /// Claims one job and ends it. Enqueues nothing.
    @discardableResult
    func runOne(_ ending: AttemptEnd.Ending = .succeeded(JSONText(trusted: Array("{}".utf8)))) async throws -> JobID {
        let claimed = try await claimOne()
        let result = try await end(claimed.lease, ending)
        try expect(result != .leaseLost, "the lease of a job just claimed stands")
        return claimed.lease.job
    }

    @discardableResult
    func cancel(_ jobs: [JobID]) async throws -> [CancelResult] { try await store.cancel(jobs, now: now) }

    @discardableResult
    func rescue(maxRescues: Int = 3, after lastEnd: LastEnd = .unexplained) async throws -> RescueReport {
        try await store.rescue(RescueRequest(maxRescues: maxRescues, after: lastEnd), by: holder, now: now)
    }

    /// Restarts the process as after a crash, and rescues the jobs that were running.
    @discardableResult
    func restartAndRescue(
        maxRescues: Int = 3, after lastEnd: LastEnd = .unexplained
    ) async throws -> RescueReport {
        try await restart()
        return try await rescue(maxRescues: maxRescues, after: lastEnd)
    }

    @discardableResult
    func change(_ queue: QueueChange) async throws -> QueueRecord { try await store.change(queue, now: now) }

    func change(_ definitions: DefinitionChange) async throws { try await store.change(definitions, now: now) }

    /// Carries out every step of a prune.
    ///
    /// - Returns: How many jobs were deleted.
    func prune(_ request: PruneRequest, limit: Int = 100) async throws -> Int {
        var step = try await store.prune(request, below: nil, limit: limit)
        var deleted = step.deleted
        while let next = step.next {
            step = try await store.prune(request, below: next, limit: limit)
            deleted += step.deleted
        }
        return deleted
    }

    /// Deletes what has finished until now.
    func pruneAfterASecond() async throws -> Int {
        advance(.seconds(1))
        return try await prune(PruneRequest(finishedBefore: now))
    }

    // MARK: Inspecting

    func dependencies(of job: JobID) async throws -> [Neighbour] {
        try await store.dependencies(of: job, onlyOpen: false, limit: 100).jobs
    }

    func outputs(
        of job: JobID, _ wanted: WantedOutputs = WantedOutputs()
    ) async throws -> [DependencyOutput] {
        guard case .found(let outputs) = try await store.outputs(ofDependenciesOf: job, wanted, maxBytes: 1000) else {
            throw Violation(description: "expected the outputs to fit")
        }
        return outputs
    }

    func record(_ job: JobID) async throws -> JobRecord { try unwrap(try await store.job(job), "job \(job)") }
    func state(_ job: JobID) async throws -> JobState { try await record(job).state }

    func states(_ jobs: [JobID]) async throws -> [JobState] {
        var states: [JobState] = []
        for job in jobs { states.append(try await state(job)) }
        return states
    }

    func result(_ job: JobID) async throws -> JobResult { try unwrap(try await store.result(of: job), "a result") }

    /// The failure of a job that did not succeed.
    func failure(_ job: JobID) async throws -> JobFailure {
        guard case .ended(_, let failure) = try await result(job).value else {
            throw Violation(description: "expected job \(job) to have a failure")
        }
        return failure
    }
}

extension Holder {
    static let bench = Holder(identity: "bench", name: "one", host: "host", version: "1.0")

    /// Another daemon.
    static func other(_ number: Int = 2) -> Holder {
        Holder(identity: "other \(number)", host: "host\(number)", version: "1.1", queues: nil)
    }
}

extension JSONText {
    init(_ literal: StaticString) { self.init(trusted: Array(literal.description.utf8)) }
}

extension JobFailure {
    static let broken = JobFailure(code: "broken", message: "It broke.", detail: JSONText("{\"part\":7}"))
}

extension NewDependency {
    static func new(_ index: Int, _ condition: DependencyCondition = .succeeded) -> NewDependency {
        NewDependency(on: .new(index), condition: condition)
    }

    static func existing(_ job: JobID, _ condition: DependencyCondition = .succeeded) -> NewDependency {
        NewDependency(on: .existing(job), condition: condition)
    }
}
