import Jobs
import OperationTypes

extension ClaimLoop {
    enum Event {
        /// Work may be ready: a job became ready, or a queue was changed.
        case wake
        /// A job is scheduled for this moment.
        case due(Timestamp)
        case wallAlarm(Timestamp)
        case uptimeAlarm(random: Double)
        /// The answer to the current exchange, with an attempt for each claimed job.
        case exchanged(Exchange, [RunningAttempt])
        case exchangeFailed(StoreError)
        /// The current exchange is stored, but the jobs that it claimed could not be read now.
        case answerLost
        /// The current exchange asked for the answer of an earlier one, which turned out to be undone.
        case exchangeUndone
        /// A life has begun, in which jobs may be claimed.
        case holds(HolderID)
        /// The life may end, so its attempts must stop within the limit, even if the grace period is longer. The limit is
        /// nil for a life without a length.
        case lapsed(limit: Duration?)
        /// The store failed in a way that only a restart can fix.
        case storeFailed(StoreError)
        /// Another process has begun an attempt, so its timeout starts.
        case began(RunningAttempt)
        /// The operation of an attempt has returned an error. ``attemptEnded(_:_:random:)`` follows when its checkpoints are
        /// saved.
        case returned(RunningAttempt)
        case attemptEnded(RunningAttempt, AttemptResult, random: Double)
        /// The store has prepared the children of an end. If it could not, the exchange stores them itself.
        case prepared(EndedAttempt)
        case cancelRequested(JobID)
        case proofWanted(Latch<Bool>)
        case settings(RunnerSettings)
        case drain(limit: Duration)
        case interrupt
    }

    enum Action {
        case start(RunningAttempt)
        case stop(RunningAttempt, StopReason)
        /// The attempt did not stop within this time. Its end is recorded without waiting for it.
        case abandon(RunningAttempt, StopReason, after: Duration)
        /// The operation of an abandoned attempt has returned.
        case dropLateEnd(RunningAttempt)
        /// Asks the store to prepare the children of this end; ``Event/prepared(_:)`` follows.
        case prepare(EndedAttempt)
        /// No attempt of the lapsed life is left, and all their ends are answered.
        case lapseOver
        /// Answers requests for proof of progress. True if the store has answered since they were made; false if the
        /// loop has ended or no slot is left.
        case prove([Latch<Bool>], Bool)
        /// The last action. Contains an error if ends could not be recorded.
        case end(StoreError?)
    }

    /// The number of jobs that can begin now, apart from the slots.
    struct Room {
        /// The number for each kind, by its name. Only the slots limit the kinds that are missing.
        var kinds: [String: Int] = [:]
        /// The number of suspects; nil if there is no limit.
        var suspects: Int?
        /// The number of suspects of each kind, by its name. Only ``suspects`` limits the kinds that are missing.
        var suspectKinds: [String: Int] = [:]
        /// The kinds to claim, by name; nil for all.
        var only: Set<String>?
        /// The queues to claim from, by name; nil for all.
        var queues: Set<String>?
    }
}

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
