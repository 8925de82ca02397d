import ControlProtocol
import Foundation
import Jobs
import PostgreSQL
import PostgresStore
import StoreControl
import Testing

/// A database in which the same request is made over a daemon's control and with `halyard.enqueue_graph`.
final class TwoWays: Sendable {
    let database: TestDatabase
    let store: PostgresJobStore
    let control: StoreControl
    let holder: HolderID
    static let now = Timestamp(milliseconds: 0)

    /// The answer to a request, without the numbers that differ.
    enum Answer: Hashable {
        case refused(code: String, message: String)
        /// The lines describe all rows of the new jobs.
        case enqueued([String])
        case duplicate(graph: Int64?, job: Int64, jobs: Int64)
    }

    init() async throws {
        database = try TestDatabase()
        // The lives are not renewed, and on a busy machine the test may take longer than a life usually lasts.
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(1_000_000)
        store = try database.open(options)
        holder = try await store.begin(
            Holder(identity: "one", host: "here", version: "1"), now: Self.now
        ).id
        try await store.register(SampleDefinitions.kinds, by: holder, now: Self.now)
        try await store.change(SampleDefinitions.change, now: Self.now)
        // A daemon checks the inputs of programs.
        let hooks = DaemonHooks(
            condition: { .init(state: .running, pid: 1, startedAt: Self.now) },
            beginInputCheck: { { $0.map(Self.problem) } })
        control = StoreControl(
            store: store, database: database.url, version: "1", daemon: hooks, now: { Self.now })
        try Connection(to: database.url).run(Self.attempt)
    }

    func close() async { await store.close() }

    private static func problem(of input: PlannedInput) -> ControlProblem? {
        guard let program = input.program else { return nil }
        do throws(ProgramInputProblem) {
            _ = try program.arguments(for: try program.completed(input.input), output: "")
            return nil
        } catch {
            return ControlProblem(.invalidInput, error.sentence)
        }
    }

    func connect() throws -> Connection { try Connection(to: database.url) }

    // MARK: Asking

    func viaControl(_ submission: Submission, _ connection: Connection) async throws -> Answer {
        switch try await control.enqueue([submission])[0] {
        case .refused(let problem): return .refused(code: problem.code.rawValue, message: problem.message)
        case .duplicate(let receipt):
            return .duplicate(
                graph: receipt.graph?.rawValue, job: receipt.jobs[0].rawValue, jobs: Int64(receipt.jobs.count))
        case .enqueued(let receipt):
            return .enqueued(
                try Self.lines(
                    connection, graph: receipt.graph?.rawValue, first: receipt.jobs[0].rawValue,
                    jobs: Int64(receipt.jobs.count)))
        }
    }

    func viaSQL(_ submission: Submission, _ connection: Connection) throws -> Answer {
        let row = try #require(try connection.run(Self.call(submission)).first)
        if !row.isNull(4) { return .refused(code: row.string(4), message: row.string(5)) }
        let graph = row.isNull(0) ? nil : Int64(row.string(0))
        let (first, jobs) = (try #require(Int64(row.string(1))), try #require(Int64(row.string(2))))
        if row.string(3) == "f" { return .duplicate(graph: graph, job: first, jobs: jobs) }
        return .enqueued(try Self.lines(connection, graph: graph, first: first, jobs: jobs))
    }

    /// Expects the same answer both ways. The request over the control is undone by nothing: both enqueue.
    @discardableResult
    func expectSame(
        _ submission: Submission, _ connection: Connection, _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        var normal = submission
        // Both receive the same text.
        if let input = submission.input {
            let text = try connection.run("SELECT \(quoted(input.string))::jsonb::text")[0].string(0)
            normal.input = JSONText(trusted: Array(text.utf8))
        }
        let other = try await viaControl(normal, connection)
        if case .duplicate = other {
            #expect(try viaSQL(normal, connection) == other, comment, sourceLocation: sourceLocation)
            return other
        }
        // The key would be in use.
        if normal.key != nil, case .enqueued = other {
            var second = normal
            second.key = (normal.key ?? "") + "'"
            let answer = try viaSQL(second, connection)
            #expect(answer == other, comment, sourceLocation: sourceLocation)
            return other
        }
        #expect(try viaSQL(normal, connection) == other, comment, sourceLocation: sourceLocation)
        return other
    }

    // MARK: SQL

    private static let attempt = """
        CREATE FUNCTION public.attempt(
            definition text, input jsonb, key text, queue text, priority text, at timestamptz, delay interval,
            after bigint[], after_finished bigint[],
            OUT graph bigint, OUT first_job bigint, OUT jobs bigint, OUT is_new boolean, OUT code text,
            OUT message text, OUT state text)
        LANGUAGE plpgsql AS $$
        BEGIN
            SELECT answer.graph, answer.first_job, answer.jobs, answer.is_new
            INTO   attempt.graph, attempt.first_job, attempt.jobs, attempt.is_new
            FROM   halyard.enqueue_graph(definition, input, key, queue, priority, at, delay, after, after_finished)
                   AS answer;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS code = PG_EXCEPTION_DETAIL, message = MESSAGE_TEXT, state = RETURNED_SQLSTATE;
            IF state NOT LIKE 'JH%' THEN RAISE; END IF;
        END $$;
        """

    static func call(_ submission: Submission) throws -> String {
        guard case .definition(let name) = submission.work else { throw Unexpected() }
        func text(_ value: String?, _ type: String) -> String { value.map { quoted($0) + "::" + type } ?? "NULL" }
        func list(_ condition: DependencyCondition) -> String {
            let jobs = submission.after.filter { $0.condition == condition }.map { "\($0.job)" }
            return jobs.isEmpty ? "NULL" : "ARRAY[\(jobs.joined(separator: ","))]::bigint[]"
        }
        var (at, delay) = ("NULL", "NULL")
        switch submission.start {
        case .now: break
        case .at(let moment): at = "to_timestamp(\(moment.milliseconds) / 1000.0)"
        case .after(let wait): delay = "interval '\(Double(wait.milliseconds) / 1000) seconds'"
        }
        return """
            SELECT * FROM public.attempt(
                \(quoted(name)), \(text(submission.input?.string, "jsonb")), \(text(submission.key, "text")),
                \(text(submission.queue, "text")), \(text(submission.priority?.name, "text")), \(at), \(delay),
                \(list(.succeeded)), \(list(.finished)))
            """
    }

    /// All rows of new jobs as texts. Numbers of the jobs are relative to the first one, and times to the acceptance.
    private static func lines(_ connection: Connection, graph: Int64?, first: Int64, jobs: Int64) throws -> [String] {
        let own = "BETWEEN \(first) AND \(first + jobs - 1)"
        func relative(_ column: String) -> String {
            "CASE WHEN \(column) \(own) THEN '#' || (\(column) - \(first)) ELSE \(column)::text END"
        }
        let open = ["blocked", "scheduled", "ready"].map { table in
            """
            SELECT concat_ws(' | ', '\(table)', job - \(first), lane, (graph IS NOT NULL), attempt, tries, rescues,
                             'due', CASE WHEN abs(due_ms - enqueued) < 40 * 86400000::bigint THEN (due_ms - enqueued)::text
                                         ELSE 'at ' || due_ms END,
                             'steady', (steady_ms - enqueued)::text, 'started', started_ms,
                             \(table == "blocked" ? "pending" : "NULL"),
                             \(table == "ready" ? "txid > 0" : "NULL"))
            FROM   (SELECT \(table).*, job.enqueued_ms AS enqueued FROM halyard.\(table)
                    JOIN halyard.job ON job.id = \(table).job) AS open
            WHERE  job \(own)
            """
        }
        let others = [
            """
            SELECT concat_ws(' | ', 'job', id - \(first), lane, definition, (graph IS NOT NULL), node, repeats, dependencies,
                             input)
            FROM   halyard.job
            WHERE  id \(own)
            """,
            """
            SELECT concat_ws(' | ', 'edge', dependent - \(first), position, \(relative("dependency")), condition)
            FROM   halyard.dependency
            WHERE  dependent \(own)
            """,
            """
            SELECT concat_ws(' | ', 'done', done.job - \(first), outcome, attempt, last_attempt, tries, rescues, pending,
                             'due', due_ms - enqueued_ms, 'started', started_ms, 'finished', finished_ms - enqueued_ms,
                             'cancel', cancel_ms, value, code, message, detail, connections, usage)
            FROM   halyard.done
            JOIN   halyard.job ON job.id = done.job
            WHERE  done.job \(own)
            """,
            """
            SELECT concat_ws(' | ', 'graph', name, jobs, first_job - \(first), tally.blocked, tally.scheduled, tally.ready,
                             tally.running, tally.succeeded, tally.failed, tally.cancelled, tally.skipped,
                             tally.at_ms - enqueued_ms)
            FROM   halyard.graph, halyard.tally(graph.id) AS tally
            WHERE  id = \(graph ?? 0)
            """,
        ]
        let found = try connection.run((open + others).joined(separator: " UNION ALL ") + " ORDER BY 1")
        return found.map { row in
            row.string(0).replacing(#/\bjob (\d+)|JOB(\d+)|"job":(\d+)|show (\d+)|--dependents (\d+)/#) { match in
                let digits = match.output.0.filter(\.isNumber)
                guard let number = Int64(digits), (first..<first + jobs).contains(number) else {
                    return String(match.output.0)
                }
                return match.output.0.filter { !$0.isNumber } + "#\(number - first)"
            }
        }
    }
}

func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }

func json(_ text: String) -> JSONText { JSONText(trusted: Array(text.utf8)) }
