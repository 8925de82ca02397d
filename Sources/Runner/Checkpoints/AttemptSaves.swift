import Jobs

/// Receives the answer to one save: nothing if the checkpoint is durable.
typealias SaveAnswer = @Sendable (Result<Void, CheckpointError>) -> Void

/// The checkpoints of one attempt on their way to the store, and what waits for them.
struct AttemptSaves: Sendable {
    private var queue = SaveQueue<SaveAnswer>()
    /// Records the end of the attempt.
    private var end: (@Sendable () -> Void)?

    /// Adds a value; see ``SaveQueue/add(_:_:)``.
    mutating func add(_ value: JSONText, _ answer: @escaping SaveAnswer) -> SaveQueue<SaveAnswer>.Step {
        queue.add(value, answer)
    }

    /// The store has answered.
    ///
    /// - Returns: The callers to answer in the same way, the value to save next, and the end of the attempt if nothing more
    ///   is to be saved.
    mutating func answered() -> (answers: [SaveAnswer], next: JSONText?, end: (@Sendable () -> Void)?) {
        let (answers, next) = queue.answered()
        return (answers, next, next == nil ? end.take() : nil)
    }

    /// Refuses later values.
    ///
    /// - Returns: Whether nothing is being saved.
    mutating func close() -> Bool {
        queue.close()
        return queue.isIdle
    }

    /// Lets the end of the attempt wait for the values that are being saved.
    ///
    /// - Parameter end: Called by the last answer, if a value is being saved.
    /// - Returns: Whether nothing is being saved, so that the caller ends the attempt itself.
    mutating func finish(then end: @escaping @Sendable () -> Void) -> Bool {
        if queue.isIdle { return true }
        self.end = end
        return false
    }

    /// Refuses later values and drops the one that waits.
    ///
    /// - Returns: The callers that wait for the dropped value.
    mutating func closeAndDropWaiting() -> [SaveAnswer] { queue.closeAndDropWaiting()?.waiters ?? [] }
}

/// The next checkpoints of all attempts. They are saved in batches, each of which is one commit.
struct SaveLine: Sendable {
    struct Save: Sendable {
        let attempt: RunningAttempt
        let value: JSONText

        var request: CheckpointSave { CheckpointSave(lease: attempt.lease, value: value) }
    }

    /// The maximum size of a batch, so that other writes do not wait long. A batch has at least one checkpoint.
    private static let maxBytes = 1 << 20

    private var waiting: [Save] = []
    private var isMoving = false

    /// Adds a save.
    ///
    /// - Returns: Whether the caller must begin to take batches.
    mutating func add(_ save: Save) -> Bool {
        waiting.append(save)
        defer { isMoving = true }
        return !isMoving
    }

    /// Takes the next batch, whose saves have one holder. Nil if none waits; the next ``add(_:)`` then begins anew.
    mutating func takeBatch() -> [Save]? {
        guard let holder = waiting.first?.attempt.holder else {
            isMoving = false
            return nil
        }
        var bytes = 0
        let count = waiting.prefix { save in
            if save.attempt.holder != holder { return false }
            defer { bytes += save.value.bytes.count }
            return bytes == 0 || bytes + save.value.bytes.count <= Self.maxBytes
        }.count
        defer { waiting.removeFirst(count) }
        return Array(waiting.prefix(count))
    }
}
