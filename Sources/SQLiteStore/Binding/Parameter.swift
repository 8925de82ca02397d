import Jobs
import SQLite

typealias Statement = SQLite.Statement<Parameter>

/// The names of the parameters of all statements. A name means the same thing in each of them.
enum Parameter: UInt8, ParameterName {
    // Objects, by their numbers or names.
    case job, graph, queue, definition, kind, name, node, key, request, holder
    // A job and its attempts.
    case state, priority, attempt, number, tries, rescues, repeats, input, outcome, value, code, message, detail,
        connections, usage
    // Edges. An edge leads from a dependent to its dependency.
    case dependent, dependency, position, condition, dependencies, pending
    // Moments. `now` is the caller's clock, `steady` a moment on the steady scale.
    case now, steady, end, due, started, ended, finished, retry, paused, updated, after, next, expected, before
    // Counts of jobs by state.
    case blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
    // Settings.
    case limit, perDaemon, weight, summary, timeout, body, problem, revision, inputType, outputType, accepts, offers,
        fields,
        program, version
    // A daemon.
    case identity, host, queues, kinds
    // Ranges and filters.
    case first, last, above, below, states, outcomes, jobs, fingerprint
    // The row of table `clock`.
    case boot, origin, skew
}

extension JobID: Bindable {}
extension GraphID: Bindable {}
extension HolderID: Bindable {}
extension DefinitionID: Bindable {}
extension JobState: Bindable {}
extension Outcome: Bindable {}
extension AttemptOutcome: Bindable {}
extension DependencyCondition: Bindable {}
extension Priority: Bindable {}

extension Timestamp: Bindable {
    public var boundValue: BoundValue { .integer(milliseconds) }
}

extension AttemptUsage: Bindable {
    public var boundValue: BoundValue { json.boundValue }
}

extension JSONText: Bindable {
    public var boundValue: BoundValue { .utf8(bytes) }

    /// Passes the text to `body` in a form that SQLite does not copy. It lasts only while `body` runs.
    func withoutCopy(_ body: (BoundValue) throws(SQLiteError) -> Void) throws(SQLiteError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(SQLiteError) in try body(.uncopied(buffer)) }
    }
}
