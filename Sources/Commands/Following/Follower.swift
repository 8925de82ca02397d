import ControlProtocol
import Jobs
import Synchronization

/// Waits for jobs and graphs to become final, one after the other, by watching them.
final class Follower: Sendable {
    private let session: Session
    private let surroundings: Surroundings
    private let patience: Duration
    private let lastStates = Mutex<[JobID: JobState]>([:])

    init(_ session: Session, _ surroundings: Surroundings, patience: Duration) {
        self.session = session
        self.surroundings = surroundings
        self.patience = patience
    }

    /// The last known state of every followed job.
    var states: [JobID: JobState] { lastStates.withLock(\.self) }

    /// Calls `onEnd` with the jobs of each piece of work when it is final, in the order of `work`.
    ///
    /// - Returns: Whether all work is final; false if the time ran out.
    func follow(
        _ work: [WorkArgument], timeout: Duration?, onEnd: @escaping @Sendable ([JobRecord]) throws -> Void
    ) async throws -> Bool {
        try await within(timeout) { for piece in work { try onEnd(try await self.follow(piece)) } }
    }

    private func follow(_ work: WorkArgument) async throws -> [JobRecord] {
        var last: [JobID: JobRecord] = [:]
        var watch = LastingWatch(session, work.scope, patience: patience) { [self] notice in
            if let text = notice.text { try surroundings.note(text) }
            guard case .event(.job(let job)) = notice else { return }
            last[job.id] = job
            lastStates.withLock { $0[job.id] = job.state }
        }
        try await watch.run()
        return last.values.sorted { $0.id < $1.id }
    }
}
