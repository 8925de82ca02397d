import Jobs
import OperationTypes
import Synchronization

/// Live events of jobs: durable changes and reports of progress.
///
/// Events are not stored. A subscriber receives only events after its subscription, and a subscriber that reads too
/// slowly is told how many it missed. Read the store after subscribing, and again after ``JobEvent/missed(_:)``.
public final class JobEvents: Sendable {
    /// The jobs whose events a subscriber receives.
    public enum Scope: Sendable, Hashable {
        /// All jobs.
        case all
        /// One job.
        case job(JobID)
        /// All jobs of one graph.
        case graph(GraphID)
    }

    private struct State {
        var all: [ObjectIdentifier: JobEventBuffer] = [:]
        var jobs: [JobID: [ObjectIdentifier: JobEventBuffer]] = [:]
        var graphs: [GraphID: [ObjectIdentifier: JobEventBuffer]] = [:]
        var hasFinished = false

        var isEmpty: Bool { all.isEmpty && jobs.isEmpty && graphs.isEmpty }
    }

    private let state = Mutex(State())

    /// Creates a source of events without subscribers.
    public init() {}

    /// Subscribes immediately. The subscription ends when the sequence is dropped, and the sequence ends when the
    /// runner ends.
    ///
    /// - Parameter capacity: The number of events that may wait for a slow reader before the oldest are dropped.
    public func subscribe(_ scope: Scope, capacity: Int = 1024) -> JobEventSequence {
        let buffer = JobEventBuffer(capacity: capacity)
        let isOver = state.withLock { state in
            if state.hasFinished { return true }
            switch scope {
            case .all: state.all[ObjectIdentifier(buffer)] = buffer
            case .job(let job): state.jobs[job, default: [:]][ObjectIdentifier(buffer)] = buffer
            case .graph(let graph): state.graphs[graph, default: [:]][ObjectIdentifier(buffer)] = buffer
            }
            return false
        }
        if isOver { buffer.finish() }
        return JobEventSequence(
            subscription: JobEventSubscription(buffer: buffer) { [weak self] in self?.remove(buffer, from: scope) })
    }

    /// Sends durable changes to the subscribers.
    public func publish(_ changes: [JobChange]) {
        state.withLock { state in
            if state.isEmpty { return }
            for change in changes { Self.tell(.changed(change), of: change.job, in: change.graph, state) }
        }
    }

    func publish(_ progress: OperationProgress, of job: JobID, in graph: GraphID?) {
        state.withLock { state in
            if state.isEmpty { return }
            Self.tell(.progress(job, progress), of: job, in: graph, state)
        }
    }

    /// Ends every sequence after the events that it still contains.
    func finish() {
        let buffers = state.withLock { state in
            defer {
                state = State()
                state.hasFinished = true
            }
            return state.all.values + (Array(state.jobs.values) + state.graphs.values).flatMap(\.values)
        }
        for buffer in buffers { buffer.finish() }
    }

    /// Appending resumes a reader's task while the lock is held. This is safe because the task is only queued and does
    /// not run here.
    private static func tell(_ event: JobEvent, of job: JobID, in graph: GraphID?, _ state: State) {
        for buffer in state.all.values { buffer.append(event) }
        if let buffers = state.jobs[job] { for buffer in buffers.values { buffer.append(event) } }
        if let graph, let buffers = state.graphs[graph] { for buffer in buffers.values { buffer.append(event) } }
    }

    private func remove(_ buffer: JobEventBuffer, from scope: Scope) {
        let id = ObjectIdentifier(buffer)
        state.withLock { state in
            switch scope {
            case .all: state.all[id] = nil
            case .job(let job):
                state.jobs[job]?[id] = nil
                if state.jobs[job]?.isEmpty == true { state.jobs[job] = nil }
            case .graph(let graph):
                state.graphs[graph]?[id] = nil
                if state.graphs[graph]?.isEmpty == true { state.graphs[graph] = nil }
            }
        }
    }
}

/// One event for a subscriber.
public enum JobEvent: Sendable, Hashable {
    /// A durable change of a job.
    case changed(JobChange)
    /// A progress report, at most ten per second for each job.
    case progress(JobID, OperationProgress)
    /// The number of events that were dropped before the next one, because the reader was too slow.
    case missed(Int)
}
