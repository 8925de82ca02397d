import Jobs
import OperationTypes
import Synchronization

/// Live events of jobs: durable changes and reports of progress.
///
/// Events are not stored. A subscriber receives only events after its subscription, and a subscriber that reads too
/// slowly learns how many it missed. Read the store after subscribing, and again after ``JobEvent/missed(_:)``.
public final class JobEvents: Sendable {
    private struct State {
        var buffers: [WatchScope: [ObjectIdentifier: JobEventBuffer]] = [:]
        var hasFinished = false

        /// Appending resumes a reader's task while the lock is held. This is safe because the task is only queued and
        /// does not run here.
        func send(_ event: JobEvent, of job: JobID, in graph: GraphID?) {
            if buffers.isEmpty { return }
            append(event, to: .all)
            append(event, to: .job(job))
            if let graph { append(event, to: .graph(graph)) }
        }

        private func append(_ event: JobEvent, to scope: WatchScope) {
            if let subscribed = buffers[scope] { for buffer in subscribed.values { buffer.append(event) } }
        }
    }

    private let state = Mutex(State())

    /// Creates a source of events without subscribers.
    public init() {}

    /// Subscribes immediately. The subscription ends when the sequence is dropped, and the sequence ends when the
    /// runner ends.
    ///
    /// - Parameter capacity: The number of events that may wait for a slow reader before the oldest are dropped.
    public func subscribe(_ scope: WatchScope, capacity: Int = 1024) -> JobEventSequence {
        let buffer = JobEventBuffer(capacity: capacity)
        let isOver = state.withLock { state in
            if !state.hasFinished { state.buffers[scope, default: [:]][ObjectIdentifier(buffer)] = buffer }
            return state.hasFinished
        }
        if isOver { buffer.finish() }
        return JobEventSequence(
            subscription: JobEventSubscription(buffer: buffer) { [weak self] in self?.remove(buffer, from: scope) })
    }

    /// Sends durable changes to the subscribers.
    public func publish(_ changes: [JobChange]) {
        state.withLock { state in
            for change in changes { state.send(.changed(change), of: change.job, in: change.graph) }
        }
    }

    func publish(_ progress: OperationProgress, of job: JobID, in graph: GraphID?) {
        state.withLock { $0.send(.progress(job, progress), of: job, in: graph) }
    }

    /// Ends every sequence after the events that it still contains.
    func finish() {
        let buffers = state.withLock { state in
            defer { state = State(hasFinished: true) }
            return state.buffers.values.flatMap(\.values)
        }
        for buffer in buffers { buffer.finish() }
    }

    private func remove(_ buffer: JobEventBuffer, from scope: WatchScope) {
        state.withLock { state in
            state.buffers[scope]?[ObjectIdentifier(buffer)] = nil
            if state.buffers[scope]?.isEmpty == true { state.buffers[scope] = nil }
        }
    }
}

/// One event for a subscriber.
public enum JobEvent: Sendable, Hashable {
    /// A durable change to a job.
    case changed(JobChange)
    /// A progress report, at most ten per second for each job.
    case progress(JobID, OperationProgress)
    /// The number of events that were dropped before the next one, because the reader was too slow.
    case missed(Int)
}
