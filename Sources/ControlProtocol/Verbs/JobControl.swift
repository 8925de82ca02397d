import Jobs

/// The verbs of Halyard, which the control socket offers and the command line uses.
///
/// There are two implementations: a client of the daemon's socket, whose calls the daemon passes to
/// a ``StoreControl``, and, if no daemon runs, a ``StoreControl`` in the process that holds the database's
/// lock. A change that a verb reports as done survives a power cut.
///
/// Every verb throws ``ControlProblem``. The documentation of a verb names only the codes that are specific to it.
/// In addition, every verb may throw these codes:
///
/// - `unavailable`, `noDaemon` and `permission`: nothing was done, so retrying is safe.
/// - `unknownOutcome`: the verb may or may not have been carried out. A verb that only reads, or that sets a
///   state, can simply be repeated. To repeat `enqueue(_:)` or ``JobVerbs/retry(_:dependents:key:)`` safely, use
///   a key.
/// - `storage` and `internal`: the daemon's log says more.
public protocol JobControl: JobVerbs, GraphVerbs, QueueVerbs, DefinitionVerbs, ScheduleVerbs, DaemonVerbs,
    JobFileVerbs
{
    /// The path of the database, as the program that opened it names it; nil before the daemon's first answer.
    var databasePath: String? { get }

    /// Returns a stream with the current state of everything in scope, and then every change and the progress
    /// of running attempts. The stream ends when the scope is final (`job`, `graph`) or the caller stops
    /// reading. For `all`, it begins with the running jobs and does not end.
    ///
    /// - Throws: ``ControlProblem``, `notFound` for an unknown job or graph. The stream itself also throws
    ///   ``ControlProblem``: `unavailable` if the daemon stops. Watching again is safe.
    func watch(_ scope: WatchScope) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error>
    /// Stores a file for a later job. The file is durable when the call returns.
    ///
    /// - Parameter size: The total size of the chunks in bytes, which is checked; nil if it is not known.
    /// - Returns: The name for the input's `file` field, `spool:…`. The file is removed when no job needs it
    ///   any more: when its job has succeeded or was pruned, or after a day if no job ever used it.
    /// - Throws: ``ControlProblem``: `tooLarge` if the file is larger than the whole spool, `unavailable` if
    ///   the spool or the disk is full, `invalidRequest` if the file is incomplete, `noDaemon` if no daemon is
    ///   running. Nothing was stored, and retrying is safe.
    func spool<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8]
}

extension Route {
    /// The routes of all verbs, except those whose bodies or responses are streams.
    package static func all(of control: any JobControl) -> [Route] {
        jobs(control) + graphs(control) + queues(control) + definitions(control) + schedules(control)
            + daemon(control)
    }
}
