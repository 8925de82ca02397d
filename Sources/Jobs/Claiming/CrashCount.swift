/// The crashes in which attempts of one job ended, as far as they count against the job.
///
/// A crash proves only that one of the attempts in the process is to blame. It counts against a job only if the job was
/// alone in the process, and less if nothing explains how the process ended.
package struct CrashCount: Sendable, Hashable {
    /// The crashes since an attempt of the job last ended in another way. Interruptions do not end the row.
    package var inARow: Int
    /// The crashes during which the job was alone.
    package var alone: Int
    /// The unexplained ends of a process during which the job was alone.
    package var unexplainedAlone: Int

    /// Creates a count.
    package init(inARow: Int = 0, alone: Int = 0, unexplainedAlone: Int = 0) {
        self.inARow = inARow
        self.alone = alone
        self.unexplainedAlone = unexplainedAlone
    }

    /// The number of crashes that count against the job.
    package var counted: Int { alone + unexplainedAlone / LastEnd.unexplainedPerCrash }

    /// Adds a crash of a job.
    ///
    /// - Parameters:
    ///   - maxCrashes: The number of crashes alone that the job may cause.
    ///   - end: The failure of the attempt that ended in this crash.
    /// - Returns: The failure with which the job ends now; nil if the job may run again.
    package mutating func add(
        of job: JobID, isExplained: Bool, isAlone: Bool, maxCrashes: Int, end: JobFailure?
    ) -> JobFailure? {
        inARow += 1
        guard isAlone else { return nil }
        if isExplained { alone += 1 } else { unexplainedAlone += 1 }
        return counted > maxCrashes
            ? .crashed(job, times: alone + unexplainedAlone, maxCrashes: maxCrashes, end: end) : nil
    }
}

extension CrashCount {
    /// Counts the crashes among the ended attempts of a job, the oldest first.
    package init(of attempts: [AttemptRecord]) {
        self.init()
        for attempt in attempts {
            guard attempt.outcome == .crashed else {
                if attempt.outcome != .interrupted { inARow = 0 }
                continue
            }
            inARow += 1
            guard let detail = attempt.error?.detail.flatMap(JSONObject.init), detail["beside"]?.string == "0" else {
                continue
            }
            if detail["cause"] == nil { unexplainedAlone += 1 } else { alone += 1 }
        }
    }
}

extension JobFailure {
    /// The maximum length of the last crash's description in the failure of a crashed job.
    private static let maxEndLength = 500

    fileprivate static func crashed(_ job: JobID, times: Int, maxCrashes: Int, end: JobFailure?) -> JobFailure {
        let text = end?.message ?? ""
        let last = text.count > maxEndLength ? text.prefix(maxEndLength) + "…" : text[...]
        return JobFailure(
            code: Code.crashed,
            message:
                "The process that ran the job ended \(times == 1 ? "once" : "\(times) times") while only this job was running; max_rescues in the daemon's configuration allows \(maxCrashes) counted \(maxCrashes == 1 ? "crash" : "crashes"). See the job's attempts and the journal, correct the cause, then run the job again with \"halyard retry \(job)\".\(last.isEmpty ? "" : " The last time: \(last)")"
        )
    }

    /// This failure with the detail by which stores count crashes.
    ///
    /// - Parameters:
    ///   - beside: The number of other attempts in the process, stored as the field `beside`.
    ///   - cause: How the process was ended by its own code, stored as the field `cause`; nil if nothing explains its
    ///     end.
    /// - Returns: The failure with all other fields of its detail, unless they are too large. A detail that is not an
    ///   object is stored as the field `detail`.
    package func counted(beside: Int, cause: String?) -> JobFailure {
        var fields = JSONObject()
        fields["beside"] = JSONText(trusted: Array("\(beside)".utf8))
        fields["cause"] = cause.map(JSONText.init(string:))
        var all = fields
        if let detail, let own = JSONObject(detail) {
            for (name, value) in own.fields where name != "beside" && name != "cause" { all[name] = value }
        } else {
            all["detail"] = detail
        }
        let fits = all.text.bytes.count <= Self.maxDetailBytes
        return JobFailure(code: code, message: message, detail: fits ? all.text : fields.text)
    }
}

extension Crash {
    /// The failure to store for the attempt, by which later crashes of the job are counted.
    package var countedFailure: JobFailure {
        let cause = failure.detail.flatMap(JSONObject.init)?["cause"]?.decodedString ?? failure.code
        return failure.counted(beside: others, cause: isExplained ? cause : nil)
    }
}
