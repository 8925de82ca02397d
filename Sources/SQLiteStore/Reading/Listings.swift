import Jobs
import SQLite

extension Reader {
    func jobs(_ filter: JobFilter) throws(SQLiteError) -> [JobRecord] {
        try snapshot { () throws(SQLiteError) in
            var jobs: [JobRecord] = []
            for id in try numbers(filter) {
                if let job = try job(id) { jobs.append(job) }
            }
            return jobs
        }
    }

    /// The jobs that a filter selects, by the narrowest index that fits: the graph's, those of the states, or the table
    /// in order of number.
    private func numbers(_ filter: JobFilter) throws(SQLiteError) -> [JobID] {
        let limit = max(1, min(filter.limit, 10_000))
        let isNewestFirst = filter.order == .newestFirst
        if filter.graph != nil {
            return isNewestFirst
                ? try collect(listings.graphNewest, filter, limit) : try collect(listings.graphOldest, filter, limit)
        }
        guard let states = filter.states, !states.contains(.succeeded) else {
            return isNewestFirst
                ? try collect(listings.allNewest, filter, limit) : try collect(listings.allOldest, filter, limit)
        }
        var found: [JobID] = []
        for state in states {
            switch state {
            case .blocked: found += try collect(listings.blocked, filter, nil)
            case .scheduled: found += try collect(listings.scheduled, filter, nil)
            case .ready: found += try collect(listings.ready, filter, nil)
            case .running: found += try collect(listings.running, filter, nil)
            default:
                found +=
                    isNewestFirst
                    ? try collect(listings.unsuccessfulNewest, filter, limit, state: state)
                    : try collect(listings.unsuccessfulOldest, filter, limit, state: state)
            }
        }
        found.sort(by: isNewestFirst ? { $0 > $1 } : { $0 < $1 })
        return Array(found.prefix(limit))
    }

    /// - Parameter limit: Nil for a statement that gives its rows in no order.
    private func collect(
        _ statement: borrowing Statement, _ filter: JobFilter, _ limit: Int?, state: JobState? = nil
    ) throws(SQLiteError) -> [JobID] {
        var found: [JobID] = []
        try statement.bind(1, filter.queue)
        try statement.bind(2, filter.definition)
        try statement.bind(3, filter.kind)
        statement.bind(4, filter.order == .newestFirst ? filter.after?.rawValue ?? .max : .max)
        statement.bind(5, filter.order == .newestFirst ? 0 : filter.after?.rawValue ?? 0)
        if let limit {
            statement.bind(6, filter.states.map { $0.reduce(0) { $0 | 1 << $1.rawValue } } ?? 255)
            statement.bind(7, limit)
            if let graph = filter.graph { statement.bind(8, graph.rawValue) }
            if let state { statement.bind(8, state.rawValue) }
        }
        while try statement.step() { found.append(JobID(statement.integer(0))) }
        return found
    }
}
