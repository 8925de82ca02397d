import Jobs

/// The job numbers of one page, gathered from several indexes.
package struct PageNumbers {
    package let isNewestFirst: Bool
    package let limit: Int
    package private(set) var found: [JobID] = []
    /// Where the next page continues: the nearest job at which a walk stopped before the end of its index, or the
    /// page's last job if not all jobs fit.
    package private(set) var next: JobID?
    /// Only jobs between these two numbers can still be on the page.
    package private(set) var below: Int64
    package private(set) var above: Int64

    package init(_ filter: JobFilter) {
        isNewestFirst = filter.order == .newestFirst
        limit = max(1, min(filter.limit, JobPage.maxJobs))
        below = isNewestFirst ? filter.after?.rawValue ?? .max : .max
        above = isNewestFirst ? 0 : filter.after?.rawValue ?? 0
    }

    package mutating func merge(_ more: [JobID], endedAt end: JobID?) {
        found += more
        found.sort(by: isBefore)
        if let end { limitTo(end) }
        guard found.count >= limit else { return }
        limitTo(found[limit - 1])
    }

    /// Ends this page at `job`.
    private mutating func limitTo(_ job: JobID) {
        if let next, isBefore(next, job) || next == job { return drop(after: next) }
        next = job
        // The new bound still includes `job`. No other index can return it again, since each index holds different
        // jobs.
        if isNewestFirst { above = job.rawValue - 1 } else { below = job.rawValue + 1 }
        drop(after: job)
    }

    private mutating func drop(after job: JobID) {
        while let last = found.last, isBefore(job, last) { found.removeLast() }
    }

    private func isBefore(_ a: JobID, _ b: JobID) -> Bool { isNewestFirst ? a > b : a < b }
}
