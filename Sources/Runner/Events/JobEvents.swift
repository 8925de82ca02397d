import Jobs
import OperationTypes
import Synchronization

/// Live events of jobs: durable changes and reports of progress.
///
/// The events are not stored: a subscriber receives only events after its subscription, and a subscriber that reads too
/// slowly learns how many it missed. Read the store after subscribing, and again after ``JobEvent/missed(_:)``.
public final class JobEvents: Sendable {
    public enum Scope: Sendable, Hashable {
        case all
        case job(JobID)
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

    public init() {}

    /// Subscribes at once; the subscription ends when the sequence is dropped. The sequence ends with the runner.
    ///
    /// - Parameter capacity: How many events wait for a slow reader before the oldest are dropped.
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

    /// Tells of changes that are durable.
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

    /// Ends every sequence after what it still holds.
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

    /// A reader's task is resumed under the lock, which only puts it in line: it does not run here.
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
    case changed(JobChange)
    /// A report of progress, at most ten per second for each job.
    case progress(JobID, OperationProgress)
    /// This many events before the next one were dropped, because the reader was too slow.
    case missed(Int)
}
