/// The reason why a checkpoint was not saved. The former checkpoint of the job is unchanged, except after
/// ``notSaved(reason:)``.
public enum CheckpointError: Error, Hashable, Sendable {
    /// The value is larger than ``Checkpoint/maxBytes``.
    case tooLarge(bytes: Int)
    /// The value cannot be encoded as JSON, or is JSON that cannot be stored.
    case invalid(String)
    /// The attempt has ended, or its job was returned to the queue.
    case leaseLost
    /// The store did not confirm the value, for the reason in these sentences. If a connection broke meanwhile, the value
    /// may have replaced the former checkpoint nevertheless. Saving again later may succeed.
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
            "It is not confirmed that the checkpoint was saved. \(reason) Continue, and save again later; until then, another attempt may begin at the former checkpoint."
        }
    }
}
