/// Why a sandbox did not answer.
enum SandboxProblem: Error, Hashable {
    /// With errno.
    case notStarted(Int32)
    case noSandbox
    /// The program cannot be started as a sandbox.
    case notOffered
    /// Before it answered.
    case ended
    case tooLate(Duration)
    case brokenAnswer
}
