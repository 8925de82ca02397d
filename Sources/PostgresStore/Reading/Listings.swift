import Jobs
import PostgreSQL
import StoreParts

extension Reader {
    /// The number of rows that one page reads from each table, whether selected or not.
    private static let rowsPerPage = 10_000

    /// Reads one page. The cost is bounded whatever the filter selects.
    func page(_ filter: JobFilter) throws(PostgresError) -> JobPage {
        let numbers = try numbers(filter)
        let records = try jobs(numbers.found, withInputs: filter.withInputs)
        var page = JobPage(jobs: [], next: numbers.next)
        var bytes = 0
        for (index, id) in numbers.found.enumerated() {
            guard let job = records[id] else { continue }
            page.jobs.append(job)
            bytes += job.input?.bytes.count ?? 0
            if bytes >= min(filter.pageBytes, JobPage.maxInputBytes) {
                if index + 1 < numbers.found.count { page.next = id }
                break
            }
        }
        return page
    }

    /// Returns the numbers of the jobs on one page. They are read from the narrowest suitable table.
    private func numbers(_ filter: JobFilter) throws(PostgresError) -> PageNumbers {
        var page = PageNumbers(filter)
        if let graph = filter.graph {
            try collect(Walk.graph, filter, &page, graph.rawValue)
            return page
        }
        guard let states = filter.states, !states.contains(.succeeded) else {
            try collect(Walk.all, filter, &page, 0)
            return page
        }
        for state in states.sorted(by: { $0.rawValue < $1.rawValue }) {
            switch state {
            case .blocked: try collect(Walk.blocked, filter, &page, 0)
            case .scheduled: try collect(Walk.scheduled, filter, &page, 0)
            case .ready: try collect(Walk.ready, filter, &page, 0)
            case .running: try collect(Walk.running, filter, &page, 0)
            case .succeeded, .failed, .cancelled, .skipped:
                try collect(Walk.unsuccessful, filter, &page, Int64(state.rawValue))
            }
        }
        return page
    }

    private func collect(
        _ walk: Walk, _ filter: JobFilter, _ page: inout PageNumbers, _ key: Int64
    ) throws(PostgresError) {
        var found: [JobID] = []
        var (below, above) = (page.below, page.above)
        var walked = 0
        // Most pages are full after a few rows.
        var some = min(page.limit + 50, Self.rowsPerPage)
        while walked < Self.rowsPerPage {
            let rows = try run(
                page.isNewestFirst ? walk.newestFirst : walk.oldestFirst, .integer(key), .integer(below),
                .integer(above), .integer(some), .text(filter.queue), .text(filter.definition), .text(filter.kind),
                .integer(filter.states.map { $0.reduce(0) { $0 | 1 << Int64($1.rawValue) } }))
            var last: JobID?
            for index in 0..<rows.count {
                let id = rows[index].job(0)
                if rows[index].boolean(1) { found.append(id) }
                if found.count == page.limit { return page.merge(found, endedAt: id) }
                last = id
            }
            walked += rows.count
            guard let last, rows.count == some else { return page.merge(found, endedAt: nil) }
            if page.isNewestFirst { below = last.rawValue } else { above = last.rawValue }
            some = min(some * 4, Self.rowsPerPage)
        }
        page.merge(found, endedAt: JobID(page.isNewestFirst ? below : above))
    }
}

/// Walks one table in the order of the jobs' numbers, and returns for every job whether the filter selects it.
private struct Walk {
    let newestFirst: Statement
    let oldestFirst: Statement

    static let all = Walk("SELECT id FROM halyard.job WHERE $1::bigint = 0", "id")
    static let graph = Walk(
        """
        SELECT id FROM halyard.job
        WHERE    id >= (SELECT first_job FROM halyard.graph WHERE id = $1::bigint)
        AND      id < (SELECT first_job + jobs FROM halyard.graph WHERE id = $1::bigint)
        """, "id")
    static let blocked = open("blocked")
    static let scheduled = open("scheduled")
    static let ready = open("ready")
    static let running = open("running")
    static let unsuccessful = Walk(
        "SELECT job AS id FROM halyard.done WHERE outcome > 4 AND outcome = $1::bigint", "job")

    private static func open(_ table: String) -> Walk {
        Walk("SELECT job AS id FROM halyard.\(table) WHERE $1::bigint = 0", "job")
    }

    private init(_ source: String, _ column: String) {
        func walk(_ order: String) -> Statement {
            Statement(
                """
                SELECT   job.id,
                         ($5::text IS NULL OR queue.name = $5::text)
                         AND ($6::text IS NULL OR definition.name = $6::text)
                         AND ($7::text IS NULL OR definition.kind = $7::text)
                         AND CASE WHEN $8::bigint IS NULL THEN true
                                  ELSE ($8::bigint >> (SELECT state::integer FROM halyard.record
                                                       WHERE record.id = job.id)) & 1 = 1 END
                FROM     (\(source)
                          AND      \(column) < $2::bigint
                          AND      \(column) > $3::bigint
                          ORDER BY \(column) \(order)
                          LIMIT    $4::bigint) AS walk
                JOIN     halyard.job ON job.id = walk.id
                JOIN     halyard.definition ON definition.id = job.definition
                JOIN     halyard.lane ON lane.id = job.lane
                JOIN     halyard.queue ON queue.id = lane.queue
                ORDER BY job.id \(order)
                """)
        }
        newestFirst = walk("DESC")
        oldestFirst = walk("ASC")
    }
}
