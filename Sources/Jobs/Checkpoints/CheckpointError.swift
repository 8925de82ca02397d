/// The reason why a checkpoint was not saved. The former checkpoint of the job is unchanged.
public enum CheckpointError: Error, Hashable, Sendable {
    /// The value is larger than ``Checkpoint/maxBytes``.
    case tooLarge(bytes: Int)
    /// The value cannot be encoded as JSON, or is JSON that cannot be stored.
    case invalid(String)
    /// The attempt has ended, or its job was returned to the queue.
    case leaseLost
    /// The store could not save the value now, for the reason in these sentences. Saving again later may succeed.
    case notSaved(reason: String)
}

extension CheckpointError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLarge(let bytes):
            "The checkpoint has \(bytes) bytes; the limit is \(Checkpoint.maxBytes). Save less, or write a file and save its path."
        case .invalid(let problem): "The checkpoint cannot be saved as JSON: \(problem). Correct the operation."
        case .leaseLost:
            "The attempt no longer holds its job, which may already run elsewhere. Stop without further effects."
        case .notSaved(let reason):
            "The checkpoint was not saved. \(reason) Continue, and save again later; until then, another attempt begins at the former checkpoint."
        }
    }
}
