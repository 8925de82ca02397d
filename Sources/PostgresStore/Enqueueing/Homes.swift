import Jobs
import PostgreSQL

/// The daemons to which new jobs are bound, since the files that the jobs need are there.
struct Homes {
    /// Whether any input names a file that only one daemon can read.
    fileprivate var areNamed = false
    /// The identities in inputs that daemons of the database have or had.
    fileprivate var known: Set<String> = []
    /// The daemons that keep the results of existing jobs.
    fileprivate var ofResults: [JobID: String] = [:]
    /// The daemons of jobs that new jobs repeat. The name of a file that was sent before a `halyard move` does not
    /// contain its daemon.
    fileprivate var ofRepeated: [JobID: String] = [:]
    /// The kinds that read no files of their dependencies.
    fileprivate var withoutFiles: Set<String> = []

    /// The identity of the only daemon that can run a job; nil if every daemon can.
    func home(of job: NewJob, _ kind: String) throws(EnqueueProblem) -> String? {
        if areNamed, let home = job.home {
            guard known.contains(home) else { throw .unknownHome(home) }
            return home
        }
        if let repeated = job.repeats, let home = ofRepeated[repeated] { return home }
        if ofResults.isEmpty || withoutFiles.contains(kind) { return nil }
        for dependency in job.dependencies {
            if case .existing(let id) = dependency.job, let home = ofResults[id] { return home }
        }
        return nil
    }
}

extension Writer {
    /// Reads what binds the jobs of graphs to daemons.
    ///
    /// - Parameter existing: The states of the existing jobs that the graphs depend on. An open one binds its dependents
    ///   when it succeeds.
    func readHomes(of graphs: [NewGraph], _ existing: [JobID: JobState]) throws(PostgresError) -> Homes {
        var homes = Homes()
        var named: Set<String> = []
        for graph in graphs {
            for job in graph.jobs { if let home = job.home { named.insert(home) } }
        }
        if !named.isEmpty {
            homes.areNamed = true
            homes.known = Set(try run(Statements.known, .texts(named.sorted())).map { $0.string(0) })
        }
        let repeated = Set(graphs.flatMap { $0.jobs.compactMap(\.repeatedForItsFile) })
        if !repeated.isEmpty {
            let jobs = repeated.sorted()
            try run(Statements.ofRepeated, .jobs(jobs), .job(jobs.first), .job(jobs.last)).forEach {
                homes.ofRepeated[$0.job(0)] = $0.string(1)
            }
        }
        homes.ofResults = try self.homes(ofFilesOf: existing.filter { $0.value == .succeeded }.keys.sorted())
        if homes.ofResults.isEmpty { return homes }
        let kinds = Set(graphs.flatMap { graph in graph.jobs.compactMap { known.kinds[$0.definition] } })
        for kind in kinds where try !readsFiles(kind) { homes.withoutFiles.insert(kind) }
        return homes
    }

    private enum Statements {
        static let known = Statement("SELECT DISTINCT identity FROM halyard.daemon WHERE identity = ANY ($1::text[])")
        static let ofRepeated = Statement(
            """
            SELECT job.id, lane.home
            FROM   halyard.job
            JOIN   halyard.lane ON lane.id = job.lane
            WHERE  job.id = ANY ($1::bigint[])
            AND    job.id BETWEEN $2::bigint AND $3::bigint
            AND    lane.home IS NOT NULL
            """)
    }
}

extension NewJob {
    /// The job that this one repeats, if its input names a file without a daemon.
    fileprivate var repeatedForItsFile: JobID? {
        guard let repeats else { return nil }
        let files = SpooledFile.files(in: input)
        return files.isEmpty || files.contains { $0.home != nil } ? nil : repeats
    }
}
