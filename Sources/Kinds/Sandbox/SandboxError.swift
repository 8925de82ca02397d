import Pages

/// The reason why a sandbox did not read a document.
enum SandboxError: Error, Hashable {
    /// The process or its socket could not be created; the value is the errno.
    case notStarted(Int32)
    /// The process could not set its limits or its system-call filter.
    case noSandbox
    /// The running program has not called ``DocumentSandbox/runIfAsked()``, so a copy of it would not be a sandbox.
    case notOffered
    /// The sandbox ended before it answered.
    case ended
    case tooLate(Duration)
    /// The document or the question about it is longer than a sandbox accepts.
    case tooLarge
    case invalid(SandboxMessage.FormatProblem)
}
