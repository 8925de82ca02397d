import Jobs

/// A job that caused other jobs to be skipped.
package struct Culprit {
    package var job: JobID
    package var name: String
    package var outcome: Outcome

    package init(job: JobID, name: String, outcome: Outcome) {
        self.job = job
        self.name = name
        self.outcome = outcome
    }

    package var verb: String {
        switch outcome {
        case .cancelled: "was cancelled"
        case .skipped: "was skipped"
        default: "failed"
        }
    }

    package var json: JSONText {
        var object = JSONObject()
        object["job"] = JSONText(trusted: Array("\(job)".utf8))
        object["name"] = JSONText(string: name)
        object["outcome"] = JSONText(string: outcome.name)
        return object.text
    }
}

extension JobFailure {
    /// - Parameter first: The job that caused the first skip: the dependency itself, unless it was skipped because of
    ///   another job.
    package static func dependency(_ dependency: Culprit, first: Culprit) -> JobFailure {
        let code =
            switch dependency.outcome {
            case .cancelled: Code.dependencyCancelled
            case .skipped: Code.dependencySkipped
            default: Code.dependencyFailed
            }
        let cause = first.job == dependency.job ? "" : ", because job \(first.job) (\(first.name)) \(first.verb)"
        return JobFailure(
            code: code,
            message:
                "Its dependency, job \(dependency.job) (\(dependency.name)), \(dependency.verb)\(cause). See why with \"halyard show \(first.job)\"; retry the jobs with \"halyard retry --dependents \(first.job)\".",
            detail: first.json)
    }
}
