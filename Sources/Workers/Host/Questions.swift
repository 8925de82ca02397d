import Jobs
import OperationTypes
import WorkerProtocol

/// The questions that were sent to processes and have no answer yet.
struct Questions {
    enum Answer: Sendable {
        case checked([InputRefusal?])
        case cleanedUp(Bool)
    }

    private var waiting: [Int: (worker: Dispatcher.WorkerID, waiter: Waiter<Answer>)] = [:]
    private var last = 0

    /// Returns a new question's number and the wait for its answer.
    mutating func ask(_ worker: Dispatcher.WorkerID) -> (id: Int, waiter: Waiter<Answer>) {
        last += 1
        let waiter = Waiter<Answer>()
        waiting[last] = (worker, waiter)
        return (last, waiter)
    }

    mutating func answer(_ id: Int, _ answer: Answer) { waiting.removeValue(forKey: id)?.waiter.end(with: answer) }

    mutating func giveUp(_ id: Int) { waiting[id] = nil }

    /// Ends the waits for a process that has exited.
    mutating func ended(_ worker: Dispatcher.WorkerID) {
        for (id, question) in waiting where question.worker == worker {
            waiting[id] = nil
            question.waiter.end(with: nil)
        }
    }
}
