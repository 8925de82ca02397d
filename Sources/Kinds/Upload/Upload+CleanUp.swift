import Glibc
import Jobs
import NIOPosix
import Web

extension Upload {
    /// How long a checkpoint is kept if its upload cannot be deleted at the server, or if its job is unknown.
    private static let keptSeconds = 14 * 86400
    /// How many uploads are deleted at the same time.
    private static let maxConcurrentDeletions = 8

    /// Removes the checkpoint, since the job will not run again.
    public func didSucceed(_ job: JobID) {
        guard let folder = configuration.checkpoints else { return }
        // The pool's state does not matter: the file is removed even during a shutdown.
        client.threads.submit { _ in CheckpointFile(folder: folder, job: job).remove() }
    }

    /// Deletes the uploads that are still at their servers although their jobs have ended: a job may have been
    /// cancelled between two attempts, or the server could not be reached. The checkpoint of a job that may still run
    /// is never touched.
    ///
    /// If a server does not delete an upload, each call tries again, until 14 days after the upload's last progress.
    /// The job of an upload may be unknown, because it was deleted or belongs to another database. Then the upload is
    /// deleted with a single try, also after 14 days.
    public func cleanUp(
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
                // The upload succeeded and stays at the server. The process ended before ``didSucceed(_:)`` removed the
                // checkpoint.
                if state == .succeeded { file.remove() } else if state.isFinal { over.append(file) }
            } else if notedAt <= oldest {
                over.append(file)
            } else {
                isAnythingLeft = true
            }
        }
        while !over.isEmpty, !Task.isCancelled {
            let some = over.suffix(Self.maxConcurrentDeletions)
            over.removeLast(some.count)
            await withTaskGroup(of: Bool.self) { group in
                for file in some { group.addTask { await cleanUp(file, keptSince: oldest) } }
                for await isGone in group where !isGone { isAnythingLeft = true }
            }
        }
        return isAnythingLeft || !over.isEmpty
    }

    /// - Returns: Whether the checkpoint was removed.
    private func cleanUp(_ file: CheckpointFile, keptSince oldest: time_t) async -> Bool {
        let isOld = (file.notedAt ?? 0) <= oldest
        if let checkpoint = file.load() {
            // A complete upload stays: its server may use it already, and with S3 it is an ordinary object.
            let isComplete =
                checkpoint.receipt != nil || checkpoint.style != "s3" && checkpoint.offset == checkpoint.source.size
            var isGone = isComplete || !checkpoint.isHeldByServer
            if !isGone { isGone = await deletion.delete(checkpoint, insists: false) }
            guard isGone || isOld else { return false }
        } else if file.isNoted, !isOld {
            // The checkpoint is unreadable now. If there is only a file that was never renamed, it names no upload.
            return false
        }
        file.remove()
        return true
    }
}
