import Jobs
import SQLite

extension Reader {
    /// One page, whose cost depends on its own size and on what the filter passes over, not on all jobs in those states.
    func jobs(_ filter: JobFilter) throws(SQLiteError) -> [JobRecord] {
        try snapshot { () throws(SQLiteError) in
            var jobs: [JobRecord] = []
            var bytes = 0
            for id in try numbers(filter) {
                guard let job = try job(id, withInput: filter.withInputs) else { continue }
                jobs.append(job)
                bytes += job.input?.bytes.count ?? 0
                if bytes >= filter.pageBytes { break }
            }
            return jobs
        }
    }

    /// The jobs that a filter selects, by the narrowest index that fits: the graph's, those of the states, or the table
    /// in order of number.
    private func numbers(_ filter: JobFilter) throws(SQLiteError) -> [JobID] {
        var page = Page(filter)
        if let graph = filter.graph {
            return page.isNewestFirst
                ? try collect(listings.graphNewest, filter, page, graph.rawValue)
                : try collect(listings.graphOldest, filter, page, graph.rawValue)
        }
        guard let states = filter.states, !states.contains(.succeeded) else {
            return page.isNewestFirst
                ? try collect(listings.allNewest, filter, page) : try collect(listings.allOldest, filter, page)
        }
        for state in states {
            let number = Int64(state.rawValue)
            let more =
                switch (state.isFinal, page.isNewestFirst) {
                case (false, true): try collect(listings.openNewest, filter, page, number)
                case (false, false): try collect(listings.openOldest, filter, page, number)
                case (true, true): try collect(listings.unsuccessfulNewest, filter, page, number)
                case (true, false): try collect(listings.unsuccessfulOldest, filter, page, number)
                }
            page.merge(more)
        }
        return page.found
    }

    /// - Parameter key: The graph or the state, as the statement has it.
    private func collect(
        _ statement: borrowing Statement, _ filter: JobFilter, _ page: Page, _ key: Int64? = nil
    ) throws(SQLiteError) -> [JobID] {
        var found: [JobID] = []
        try statement.bind(1, filter.queue)
        try statement.bind(2, filter.definition)
        try statement.bind(3, filter.kind)
        statement.bind(4, page.below)
        statement.bind(5, page.above)
        statement.bind(6, filter.states.map { $0.reduce(0) { $0 | 1 << $1.rawValue } } ?? 255)
        statement.bind(7, page.limit)
        if let key { statement.bind(8, key) }
        while try statement.step() { found.append(JobID(statement.integer(0))) }
        return found
    }
}

/// The numbers of one page, gathered from several indexes.
private struct Page {
    let isNewestFirst: Bool
    let limit: Int
    private(set) var found: [JobID] = []
    /// What can still be on the page lies between these.
    private(set) var below: Int64
    private(set) var above: Int64

    init(_ filter: JobFilter) {
        isNewestFirst = filter.order == .newestFirst
        limit = max(1, min(filter.limit, 10_000))
        below = isNewestFirst ? filter.after?.rawValue ?? .max : .max
        above = isNewestFirst ? 0 : filter.after?.rawValue ?? 0
    }

    mutating func merge(_ more: [JobID]) {
        if more.isEmpty { return }
        found += more
        found.sort(by: isNewestFirst ? { $0 > $1 } : { $0 < $1 })
        if found.count > limit { found.removeLast(found.count - limit) }
        guard found.count == limit, let last = found.last?.rawValue else { return }
        if isNewestFirst { above = last } else { below = last }
    }
}
