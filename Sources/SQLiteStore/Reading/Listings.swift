import Jobs
import SQLite
import StoreParts

extension Reader {
    /// The number of rows that one page reads from each index, whether selected or not. Reading them takes a few
    /// milliseconds.
    static let rowsPerPage = 10_000

    /// Reads one page. The cost is bounded whatever the filter selects, so that other callers are served between pages.
    func page(_ filter: JobFilter) throws(SQLiteError) -> JobPage {
        try snapshot { () throws(SQLiteError) in
            let numbers = try numbers(filter)
            var page = JobPage(jobs: [], next: numbers.next)
            var bytes = 0
            for (index, id) in numbers.found.enumerated() {
                guard let job = try job(id, withInput: filter.withInputs) else { continue }
                page.jobs.append(job)
                bytes += job.input?.bytes.count ?? 0
                if bytes >= min(filter.pageBytes, JobPage.maxInputBytes) {
                    if index + 1 < numbers.found.count { page.next = id }
                    break
                }
            }
            return page
        }
    }

    /// Returns the numbers of the jobs on one page. They are read from the narrowest suitable index: the graph's, the
    /// states', or else the table in order of number.
    private func numbers(_ filter: JobFilter) throws(SQLiteError) -> PageNumbers {
        var page = PageNumbers(filter)
        if let graph = filter.graph {
            try collect(listings.graph, filter, &page, graph.rawValue)
            return page
        }
        guard let states = filter.states, !states.contains(.succeeded) else {
            try collect(listings.all, filter, &page)
            return page
        }
        for state in states {
            try collect(state.isFinal ? listings.unsuccessful : listings.open, filter, &page, Int64(state.rawValue))
        }
        return page
    }

    /// - Parameter key: The graph or the state, depending on the walk; nil if the walk takes neither.
    private func collect(
        _ walk: ListingStatements.Walk, _ filter: JobFilter, _ page: inout PageNumbers, _ key: Int64? = nil
    ) throws(SQLiteError) {
        let statement = page.isNewestFirst ? walk.newestFirst : walk.oldestFirst
        try statement.bind([
            .queue <- filter.queue, .definition <- filter.definition, .kind <- filter.kind, .below <- page.below,
            .above <- page.above, .states <- filter.states.map { $0.reduce(0) { $0 | 1 << $1.rawValue } } ?? 255,
            .key <- key,
        ])
        var found: [JobID] = []
        var last: JobID?
        for _ in 0..<Self.rowsPerPage {
            guard try statement.step() else { return page.merge(found, endedAt: nil) }
            let id = statement.job(0)
            if statement.integer(1) != 0 { found.append(id) }
            if found.count == page.limit {
                statement.reset()
                return page.merge(found, endedAt: id)
            }
            last = id
        }
        statement.reset()
        page.merge(found, endedAt: last)
    }
}
