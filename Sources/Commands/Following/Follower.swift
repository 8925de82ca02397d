import Control
import Jobs
import Synchronization

/// Waits for jobs and graphs to become final, one after the other, by watching them.
final class Follower: Sendable {
    private let control: any JobControl
    private let states = Mutex<[JobID: JobState]>([:])

    init(_ control: any JobControl) { self.control = control }

    /// The last known state of every job that was followed.
    var lastStates: [JobState] { states.withLock { Array($0.values) } }

    /// Calls `onEnd` with the jobs of each piece of work when it is final, in order.
    ///
    /// - Returns: Whether all are final; false when the time ran out.
    func follow(
        _ work: [WorkArgument], timeout: Duration?, onEnd: @escaping @Sendable ([JobRecord]) throws -> Void
    ) async throws -> Bool {
        guard let timeout else {
            for piece in work { try onEnd(try await follow(piece)) }
            return true
        }
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for piece in work { try onEnd(try await self.follow(piece)) }
                return true
            }
            group.addTask {
                try await Task.sleep(for: timeout, clock: .continuous)
                return false
            }
            let isDone = try await group.next() ?? false
            group.cancelAll()
            return isDone
        }
    }

    private func follow(_ work: WorkArgument) async throws -> [JobRecord] {
        let scope: WatchScope =
            switch work {
            case .job(let id): .job(id)
            case .graph(let id): .graph(id)
            }
        var last: [JobID: JobRecord] = [:]
        for try await event in try await control.watch(scope) {
            switch event {
            case .job(let job):
                last[job.id] = job
                states.withLock { $0[job.id] = job.state }
            case .final: return last.values.sorted { $0.id < $1.id }
            case .progress, .missed: break
            }
        }
        try Task.checkCancellation()
        throw CommandFailure(
            .temporary, "The daemon stopped before the jobs were final. They are kept; wait again when it runs.")
    }
}
