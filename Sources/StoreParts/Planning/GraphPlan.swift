import Jobs

/// How the jobs of a new graph start, decided before anything is written.
///
/// Invariants:
/// - I1: a job's dependencies are decided before the job.
/// - I2: `pending` counts the dependencies whose condition is not met; only a blocked or skipped job has any.
package struct GraphPlan {
    package struct Start {
        package var state: JobState = .blocked
        package var pending = 0
        /// The first dependency whose outcome does not meet its condition, if the state is `skipped`.
        package var cause: (dependency: NewDependency.Job, outcome: Outcome)?

        package init() {}
    }

    package let starts: [Start]

    /// - Parameters:
    ///   - order: The return value of ``order(of:)``.
    ///   - outcomeOfExisting: The outcome of an existing job; nil while it is open, or while its dependents,
    ///   which include the new job, are still being settled.
    package init<Failure: Error>(
        _ jobs: [NewJob], order: [Int], now: Timestamp,
        outcomeOfExisting: (JobID, DependencyCondition) throws(Failure) -> Outcome?
    ) throws(Failure) {
        var starts = [Start](repeating: Start(), count: jobs.count)
        for index in order {
            var start = Start()
            for dependency in jobs[index].dependencies {
                let outcome: Outcome? =
                    switch dependency.job {
                    case .new(let index): starts[index].state.outcome
                    case .existing(let job): try outcomeOfExisting(job, dependency.condition)
                    }
                guard let outcome else {
                    start.pending += 1
                    continue
                }
                if !dependency.condition.isMet(by: outcome) {
                    if start.cause == nil { start.cause = (dependency.job, outcome) }
                    start.pending += 1
                }
            }
            start.state =
                if start.cause != nil {
                    .skipped
                } else if start.pending > 0 {
                    .blocked
                } else if jobs[index].start.isLater(than: now) {
                    .scheduled
                } else {
                    .ready
                }
            starts[index] = start
        }
        self.starts = starts
    }

    /// The indices of the jobs, ordered so that each comes after the jobs it depends on (I1).
    package static func order(of jobs: [NewJob]) throws(EnqueueProblem) -> [Int] {
        // Usually every job already comes after its dependencies.
        let isOrdered = jobs.indices.allSatisfy { index in
            jobs[index].dependencies.allSatisfy { dependency in
                if case .new(let earlier) = dependency.job { earlier < index } else { true }
            }
        }
        if isOrdered { return Array(jobs.indices) }

        var open = [Int](repeating: 0, count: jobs.count)
        var dependents = [[Int]](repeating: [], count: jobs.count)
        for (index, job) in jobs.enumerated() {
            for case .new(let dependency) in job.dependencies.map(\.job) {
                open[index] += 1
                dependents[dependency].append(index)
            }
        }
        var order = jobs.indices.filter { open[$0] == 0 }
        var next = 0
        while next < order.count {
            for dependent in dependents[order[next]] {
                open[dependent] -= 1
                if open[dependent] == 0 { order.append(dependent) }
            }
            next += 1
        }
        guard order.count == jobs.count else {
            throw .cycle(through: onCycle(jobs, open: open))
        }
        return order
    }

    /// Returns a job on a cycle, not merely one that depends on a cycle. Following open dependencies leads into the
    /// cycle within as many steps as there are jobs.
    private static func onCycle(_ jobs: [NewJob], open: [Int]) -> Int {
        guard var index = open.firstIndex(where: { $0 > 0 }) else { preconditionFailure("every job was ordered") }
        for _ in jobs.indices {
            for case .new(let dependency) in jobs[index].dependencies.map(\.job) where open[dependency] > 0 {
                index = dependency
                break
            }
        }
        return index
    }
}
