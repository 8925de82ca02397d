import ControlProtocol
import Jobs

/// A control that supports only the verbs that the test provides.
struct PartialControl: CallingControl {
    var databasePath: String?
    var enqueueing: @Sendable ([Submission]) async throws(ControlProblem) -> [SubmissionAnswer] = {
        _ throws(ControlProblem) in throw nothing
    }
    var watching: @Sendable (WatchScope) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error> = {
        _ throws(ControlProblem) in throw nothing
    }
    var readingResult: @Sendable (JobID) async throws(ControlProblem) -> JobResult? = {
        _ throws(ControlProblem) in throw nothing
    }
    var listingGraphs: @Sendable (Int, GraphID?) async throws(ControlProblem) -> [GraphRecord] = {
        _, _ throws(ControlProblem) in throw nothing
    }

    private static let nothing = ControlProblem(.internal, "This control does nothing.")
    private var nothing: ControlProblem { Self.nothing }

    func send(_: Call) async throws(ControlProblem) -> [UInt8] { throw nothing }
    func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer] {
        try await enqueueing(submissions)
    }
    func result(_ id: JobID) async throws(ControlProblem) -> JobResult? { try await readingResult(id) }
    func retry(_: JobID, dependents: Bool, key: String?) async throws(ControlProblem) -> EnqueueReceipt {
        throw nothing
    }
    func graphPages(limit: Int, before: GraphID?) async throws(ControlProblem) -> Pages<GraphRecord> {
        Pages(try await listingGraphs(limit, before))
    }
    func watch(_ scope: WatchScope) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error> {
        try await watching(scope)
    }
    func log(_: LogRequest) async throws(ControlProblem) -> AsyncThrowingStream<[LogPiece], any Error> { throw nothing }
    func file(of _: JobID) async throws(ControlProblem) -> FileContent { throw nothing }
    func spool<Chunks: AsyncSequence & Sendable>(
        _: Chunks, size: Int64?
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8] { throw nothing }
}
