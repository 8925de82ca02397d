import Glibc
import Jobs
import NIOPosix

extension Upload {
    /// How long what cannot be deleted at its server, or belongs to a job that is not known, is kept.
    private static let keptSeconds = 14 * 86400
    private static let sideBySide = 8

    /// Removes the checkpoint, since the job will not run again.
    public func didSucceed(_ job: JobID) {
        guard let folder = configuration.checkpoints else { return }
        // Runs whatever the state of the pool: the client starts its threads, and only a shutdown ends them.
        client.threads.submit { _ in CheckpointFile(folder: folder, job: job).remove() }
    }

    /// Deletes at the servers what they hold of uploads whose job has ended without doing so: it was cancelled between two
    /// attempts, or the server could not be reached. The checkpoint of a job that may still run is never touched.
    ///
    /// What a server does not let go is asked for again each time, until 14 days after its last piece. Of a job
    /// that is not known, which may have been deleted or belong to another database, it is asked for once, after as long.
    public func takeBack(
        asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
    ) async throws(StoreError) -> Bool {
        guard let folder = configuration.checkpoints else { return false }
        let jobs: Set<JobID>
        do {
            jobs = try await client.threads.runAbandoningOnCancel { CheckpointFile.jobs(in: folder) }
        } catch {
            return true
        }
        var isAnythingLeft = false
        var over: [CheckpointFile] = []
        let oldest = time(nil) - Self.keptSeconds
        for job in jobs {
            let file = CheckpointFile(folder: folder, job: job)
            guard let notedAt = file.notedAt else { continue }
            if let state = try await state(job) {
                // The server keeps the upload. The process ended before ``didSucceed(_:)`` removed the checkpoint.
                if state == .succeeded { file.remove() } else if state.isFinal { over.append(file) }
            } else if notedAt <= oldest {
                over.append(file)
            } else {
                isAnythingLeft = true
            }
        }
        while !over.isEmpty, !Task.isCancelled {
            let some = over.suffix(Self.sideBySide)
            over.removeLast(some.count)
            await withTaskGroup(of: Bool.self) { group in
                for file in some { group.addTask { await takeBack(file, keptSince: oldest) } }
                for await isGone in group where !isGone { isAnythingLeft = true }
            }
        }
        return isAnythingLeft || !over.isEmpty
    }

    /// - Returns: Whether nothing is left of it.
    private func takeBack(_ file: CheckpointFile, keptSince oldest: time_t) async -> Bool {
        let isOld = (file.notedAt ?? 0) <= oldest
        if let checkpoint = file.load() {
            // A complete upload stays: its server may use it already, and with S3 it is an object by its own name.
            let isComplete =
                checkpoint.receipt != nil || checkpoint.style != "s3" && checkpoint.offset == checkpoint.source.size
            let isGone =
                isComplete || !checkpoint.isHeldByServer ? true : await abandonment.abandon(checkpoint, insists: false)
            guard isGone || isOld else { return false }
        } else if file.isNoted, !isOld {
            // Unreadable now; what was never renamed names no upload.
            return false
        }
        file.remove()
        return true
    }
}
