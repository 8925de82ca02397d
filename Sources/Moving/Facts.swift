/// The tables that represent a database while it is moved from one store to another. They do not depend on the tables
/// of either store, so that the digests of both databases can be compared.
///
/// - M1: A store reads each table completely and in the order of its first columns, which are unique together.
/// - M2: Numbers of queues are 1, 2, 3 … in the order in which the queues were created. All other numbers are those of
///   the source.
/// - M3: Times are milliseconds since 1970 in UTC. A moment on a store's steady scale is converted to the wall clock
///   (``MoveClock``).
/// - M4: No job is running: its last daemon has died, and its attempt was ended.
///
/// The tables are in the order in which they are moved: rows refer only to rows of tables before theirs. A new column needs
/// a line here, and one in each store if the store's own column has another name.
package enum Facts: String, CaseIterable, Sendable {
    /// The numbers of the next job and graph.
    case numbers
    case queues
    /// The kinds that daemons have registered. A daemon registers its kinds again when it starts.
    case kinds
    case definitions
    case graphDefinitions = "graph definitions"
    case schedules
    case graphs
    /// All facts about each job, with its input, its result and the attempt that succeeded, but without other attempts.
    case jobs
    case dependencies
    /// The attempts that did not succeed.
    case attempts
    case keys
    case checkpoints
    /// The numbers of jobs by queue and state.
    case counts

    package var columns: [FactColumn] {
        switch self {
        case .numbers: [.integer("next_job"), .integer("next_graph")]
        case .queues:
            [
                .integer("number"), .text("name"), .integer("limit"), .integer("limit_per_daemon"), .integer("weight"),
                .integer("paused_ms"), .integer("removed_ms"),
            ]
        case .kinds:
            [
                .text("name"), .text("summary"), .text("input_type"), .text("output_type"), .text("accepts"),
                .text("offers"), .text("fields"), .integer("updated_ms"),
            ]
        case .definitions:
            [
                .integer("id"), .text("name"), .integer("revision"), .text("kind"), .text("summary"), .text("queue"),
                .integer("priority"), .text("retry"), .integer("max_tries"), .integer("timeout_ms"), .text("input"),
                .text("program"), .integer("updated_ms"), .integer("replaced_ms"),
            ]
        case .graphDefinitions:
            [
                .integer("id"), .text("name"), .integer("revision"), .text("body"), .text("summary"),
                .integer("updated_ms"), .integer("replaced_ms"),
            ]
        case .schedules:
            [
                .text("name"), .integer("revision"), .text("body"), .text("summary"), .integer("updated_ms"),
                .integer("after_ms"), .integer("next_ms"), .integer("paused_ms"), .integer("last_ms"),
                .integer("last_job"), .integer("last_graph"), .integer("skipped_ms"), .text("problem"),
                .integer("steady_ms"),
            ]
        case .graphs:
            [
                .integer("id"), .text("name"), .integer("enqueued_ms"), .integer("finished_ms"), .integer("first_job"),
            ] + Self.states
        case .jobs:
            [
                .integer("id"), .integer("state"), .integer("queue"), .integer("priority"), .integer("definition"),
                .integer("graph"), .text("node"), .integer("repeats"), .integer("dependencies"), .integer("pending"),
                .integer("attempt"), .integer("tries"), .integer("rescues"), .integer("enqueued_ms"),
                .integer("due_ms"), .integer("steady_ms"), .integer("started_ms"), .integer("finished_ms"),
                .integer("cancel_ms"), .text("input"), .integer("result_attempt"), .text("value"), .text("code"),
                .text("message"), .text("detail"), .text("connections"), .text("usage"),
            ]
        case .dependencies:
            [.integer("dependent"), .integer("position"), .integer("dependency"), .integer("condition")]
        case .attempts:
            [
                .integer("job"), .integer("number"), .integer("outcome"), .integer("started_ms"), .integer("ended_ms"),
                .text("code"), .text("message"), .text("detail"), .integer("retry_ms"), .text("connections"),
                .text("usage"),
            ]
        case .keys:
            [.integer("first_job"), .integer("jobs"), .integer("graph"), .integer("fingerprint"), .text("key")]
        case .checkpoints: [.integer("job"), .integer("attempt"), .integer("saved_ms"), .text("value")]
        case .counts: [.integer("queue")] + Self.states
        }
    }

    /// The columns for the numbers of jobs by state, in the order of the states.
    package static let states: [FactColumn] = [
        .integer("blocked"), .integer("scheduled"), .integer("ready"), .integer("running"), .integer("succeeded"),
        .integer("failed"), .integer("cancelled"), .integer("skipped"),
    ]
}

/// A column of a table of ``Facts``. Every column may be NULL.
package struct FactColumn: Hashable, Sendable {
    package let name: String
    package let isText: Bool

    package static func integer(_ name: String) -> FactColumn { FactColumn(name: name, isText: false) }
    package static func text(_ name: String) -> FactColumn { FactColumn(name: name, isText: true) }
}
