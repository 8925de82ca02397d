import OperationTypes

/// The environment of one attempt of a job.
public struct JobContext: Sendable {
    /// The job and the number of the attempt.
    public let lease: Lease
    /// The context of the operation, with its cancellation token.
    public let operation: OperationContext
    /// The last checkpoint that an earlier attempt of the job saved; nil if there is none.
    public let checkpoint: JSONText?
    private let isStopped: @Sendable () -> Bool
    private let isLast: @Sendable (_ code: String, _ isRetryable: Bool) -> Bool
    private let onSave: @Sendable (JSONText) async throws(CheckpointError) -> Void
    private let onEnqueue: @Sendable (ChildJob) -> Void

    /// Creates a context.
    ///
    /// - Parameters:
    ///   - lease: The job and the number of the attempt.
    ///   - operation: The context that the operation runs in.
    ///   - checkpoint: The value of ``checkpoint``.
    ///   - isStoppedForGood: Returns the value of ``isStoppedForGood``.
    ///   - isLast: Returns the value of ``wouldEnd(with:)``.
    ///   - onSave: Saves each checkpoint of the attempt. The default discards them.
    ///   - onEnqueue: Receives each child that the attempt enqueues.
    public init(
        lease: Lease, operation: OperationContext, checkpoint: JSONText? = nil,
        isStoppedForGood: @escaping @Sendable () -> Bool = { false },
        isLast: @escaping @Sendable (_ code: String, _ isRetryable: Bool) -> Bool = { _, _ in false },
        onSave: @escaping @Sendable (JSONText) async throws(CheckpointError) -> Void = { _ in },
        onEnqueue: @escaping @Sendable (ChildJob) -> Void
    ) {
        self.lease = lease
        self.operation = operation
        self.checkpoint = checkpoint
        isStopped = isStoppedForGood
        self.isLast = isLast
        self.onSave = onSave
        self.onEnqueue = onEnqueue
    }

    /// Whether this attempt was asked to stop and the job will not run again, because the job was cancelled or its last
    /// attempt timed out. If so, work begun elsewhere may be undone.
    public var isStoppedForGood: Bool { isStopped() }

    /// Whether the job fails permanently if this attempt throws `failure`. If so, work begun elsewhere may be undone.
    public func wouldEnd(with failure: some OperationFailure) -> Bool { isLast(failure.code, failure.isRetryable) }

    /// Enqueues a job together with this attempt's success, in the same transaction. If the attempt does not succeed,
    /// nothing is enqueued.
    public func enqueue(_ child: ChildJob) { onEnqueue(child) }

    // MARK: Checkpoints

    /// Decodes ``checkpoint``; nil if there is none.
    ///
    /// - Throws: `DecodingError` if the checkpoint has another form, such as the one of an earlier version of the kind.
    ///   The attempt can begin without it.
    public func checkpoint<Value: Decodable>(as type: Value.Type) throws -> Value? {
        try checkpoint.map { try PayloadCoding.decode(type, from: $0) }
    }

    /// Saves the state from which another attempt of the job can resume. It replaces the job's former checkpoint.
    ///
    /// When this returns, the checkpoint survives a crash of this process, of the daemon and of the machine. The next
    /// attempt receives it as ``checkpoint``, however this attempt ends, unless the job is final then. If several calls
    /// wait at the same time, only the newest value is saved, and all of them return when it is durable. Saves
    /// end before a failure of the attempt is recorded. When it succeeds, saves that have not begun are dropped.
    ///
    /// Each save costs a write to the disk, so save after a noticeable amount of work, not after each step.
    ///
    /// - Parameter value: A value of at most ``Checkpoint/maxBytes`` as JSON. A ``JSONText`` is saved unchanged.
    /// - Throws: ``CheckpointError``. The former checkpoint is unchanged, except perhaps after
    ///   ``CheckpointError/notSaved(reason:)``.
    public func save(_ value: some Encodable & Sendable) async throws(CheckpointError) {
        let text: JSONText
        do {
            text = try JSONText(checking: try PayloadCoding.encode(value).bytes, limit: Checkpoint.maxBytes)
        } catch JSONProblem.tooLarge(let bytes, _) {
            throw .tooLarge(bytes: bytes)
        } catch {
            throw .invalid(PayloadCoding.explain(error))
        }
        try await onSave(text)
    }
}
