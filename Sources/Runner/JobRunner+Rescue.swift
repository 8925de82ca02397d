import Jobs
import Logging
import Synchronization

extension JobRunner {
    /// Rescues the jobs of holders whose lives have ended, and logs the new state of each.
    func rescueOrphans(by id: HolderID) async throws(StoreError) {
        let request = RescueRequest(maxRescues: maxRescues, after: core.withLock(\.lastEnd))
        let rescued = try await store.rescue(request, by: id, now: wallClock.now)
        // From now on, only a lapse ends a life of this runner.
        core.withLock { $0.lastEnd = .unrelated(reason: "The daemon lost its lease") }
        for job in rescued.failed {
            try await log(
                .error, job, "failed: the process crashed too often while only this job was running",
                event: "job-crashed")
        }
        // One holder rescues only when it starts; several also rescue from each other, and after a lapse from themselves.
        let isAlone = store.capabilities.holders == .one
        let cause = isAlone ? "it was running when the last process ended" : "its daemon stopped or lost its lease"
        for job in rescued.returned + rescued.cancelled {
            try await log(.info, job, "rescued: \(cause)", event: "job-rescued")
        }
        if !rescued.onTrial.isEmpty {
            report.logger.notice(
                "\(JobTitle(rescued.onTrial)): running during several consecutive crashes; runs first, a few jobs at a time, while others wait",
                metadata: ["HALYARD_COUNT": "\(rescued.onTrial.count)", "HALYARD_EVENT": "jobs-on-trial"])
        }
        let count = rescued.returned.count + rescued.cancelled.count
        if count > 0 {
            let jobs =
                isAlone
                ? "\(count == 1 ? "1 job that was" : "\(count) jobs that were") running when the last process ended"
                : "\(count == 1 ? "1 job" : "\(count) jobs") whose daemon stopped or lost its lease"
            report.logger.notice(
                "rescued \(jobs)",
                metadata: ["HALYARD_COUNT": "\(count)", "HALYARD_EVENT": "jobs-rescued"])
        }
    }

    private func log(
        _ level: Logger.Level, _ job: JobID, _ message: String, event: String
    ) async throws(StoreError) {
        let title = JobTitle(job, definition: try await store.job(job)?.definition)
        report.logger.log(
            level: level, "\(title): \(message)", metadata: ["HALYARD_JOB": "\(job)", "HALYARD_EVENT": "\(event)"])
    }
}
