import Jobs
import PostgreSQL

extension Row {
    func job(_ column: Int) -> JobID { JobID(integer(column)) }

    func optionalJob(_ column: Int) -> JobID? { optionalInteger(column).map(JobID.init(_:)) }

    func graph(_ column: Int) -> GraphID? { optionalInteger(column).map(GraphID.init(_:)) }

    func timestamp(_ column: Int) -> Timestamp { Timestamp(milliseconds: integer(column)) }

    func optionalTimestamp(_ column: Int) -> Timestamp? {
        optionalInteger(column).map(Timestamp.init(milliseconds:))
    }

    func json(_ column: Int) -> JSONText? { bytes(column).map(JSONText.init(trusted:)) }

    func int(_ column: Int) -> Int { Int(integer(column)) }

    func condition(_ column: Int) -> DependencyCondition { DependencyCondition(rawValue: int(column)) ?? .succeeded }

    func state(_ column: Int) -> JobState { JobState(rawValue: int(column)) ?? .blocked }

    /// Reads a failure from three columns: code, message and detail. Nil if the code is NULL.
    func failure(from first: Int) -> JobFailure? {
        guard let code = optionalString(first) else { return nil }
        return JobFailure(code: code, message: string(first + 1), detail: json(first + 2))
    }

    /// Reads eight columns: the numbers of jobs by state.
    func counts(from first: Int) -> StateCounts {
        var counts = StateCounts()
        for state in JobState.allCases { counts[state] = integer(first + state.rawValue) }
        return counts
    }
}

extension Argument {
    /// The lowest and the highest number of the jobs. A statement with both reads only the partitions between them
    /// (S5).
    static func bounds(_ jobs: some Sequence<JobID>) -> (low: Argument, high: Argument) {
        (.job(jobs.min()), .job(jobs.max()))
    }

    static func time(_ moment: Timestamp?) -> Argument { .integer(moment?.milliseconds) }
    static func job(_ job: JobID?) -> Argument { .integer(job?.rawValue) }
    static func graph(_ graph: GraphID?) -> Argument { .integer(graph?.rawValue) }
    static func json(_ text: JSONText?) -> Argument { .utf8(text?.bytes) }
    static func jobs(_ jobs: some Sequence<JobID>) -> Argument { .integers(jobs.map(\.rawValue)) }
    static func optionalGraphs(_ graphs: some Sequence<GraphID?>) -> Argument { .integers(graphs.map { $0?.rawValue }) }
    static func times(_ times: some Sequence<Timestamp?>) -> Argument { .integers(times.map { $0?.milliseconds }) }
    static func jsons(_ texts: some Sequence<JSONText?>) -> Argument { .utf8s(texts.map { $0?.bytes }) }
}
