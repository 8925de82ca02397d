import Glibc
import Jobs

extension JobFiles {
    /// Removes all files of a job. Readers that have a file open can read it to its end. It is not an error if the job has
    /// no files.
    ///
    /// - Throws: ``JobFilesError``. Some files may be left; retrying removes them.
    public func remove(_ job: JobID) throws(JobFilesError) {
        let folder = places.job(job)
        // Records first, since a file without its record is not kept (K1).
        let names = try Folder.names(in: folder).sorted { $0.hasSuffix(".kept") && !$1.hasSuffix(".kept") }
        for name in names { try Folder.unlinkFile("\(folder)/\(name)") }
        guard rmdir(folder) == 0 || errno == ENOENT else {
            throw .failed(action: "removing", path: folder, errno: errno)
        }
        // Not empty while other jobs of the group have files.
        _ = rmdir(places.group(of: job))
        try Folder.unlinkFile("\(places.unsettled)/\(job)")
        setUnsettled(job, false)
    }

    // MARK: Files without a result

    /// The jobs that kept a file and whose end was not reported with ``settle(_:keeping:)`` yet, for example because the
    /// daemon stopped in between.
    public func unsettledJobs() throws(JobFilesError) -> [JobID] {
        try Folder.names(in: places.unsettled).compactMap { Int64($0).map { JobID($0) } }.sorted()
    }

    /// Returns the ``unsettledJobs()``, and remembers them as jobs to settle when they end. Call it at a start.
    public func recoverUnsettledJobs() throws(JobFilesError) -> [JobID] {
        let jobs = try unsettledJobs()
        for job in jobs { setUnsettled(job, true) }
        return jobs
    }

    /// Removes the kept files of a final job, except the one that its result mentions. Its logs stay. Repeating the call
    /// is harmless.
    ///
    /// - Parameter attempt: The attempt that succeeded; nil if none did.
    public func settle(_ job: JobID, keeping attempt: Int?) throws(JobFilesError) {
        for case .record(let other) in try places.names(of: job) where other != attempt {
            try Folder.unlinkFile(places.record(Lease(job: job, attempt: other)))
        }
        for case .content(let other) in try places.names(of: job) where other != attempt {
            try Folder.unlinkFile(places.content(Lease(job: job, attempt: other)))
        }
        try Folder.unlinkFile("\(places.unsettled)/\(job)")
        setUnsettled(job, false)
    }

    /// Removes the file that an attempt kept, since no result will mention it. Its log stays. Repeating the call is
    /// harmless.
    public func discard(_ lease: Lease) throws(JobFilesError) {
        // K1.
        try Folder.unlinkFile(places.record(lease))
        try Folder.unlinkFile(places.content(lease))
    }

    func markUnsettled(_ job: JobID) throws(JobFilesError) {
        setUnsettled(job, true)
        try Folder.make(places.unsettled)
        let file = try OpenFile("\(places.unsettled)/\(job)", O_WRONLY | O_CREAT)
        try file.synchronize()
        try Folder.synchronize(places.unsettled)
        try Folder.synchronize(folder)
    }

    // MARK: Pruning

    /// Notes durably that jobs are going to be deleted, so that a crash in between is noticed at the next start. Does
    /// nothing if there are no files of jobs.
    public func beginPruning() throws(JobFilesError) {
        guard access(folder, F_OK) == 0 else { return }
        _ = try OpenFile(places.pruning, O_WRONLY | O_CREAT)
        try Folder.synchronize(folder)
    }

    /// Notes that the files of all deleted jobs are removed.
    public func endPruning() throws(JobFilesError) { try Folder.unlinkFile(places.pruning) }

    /// Whether jobs may have been deleted whose files are left.
    public var isPruning: Bool { access(places.pruning, F_OK) == 0 }

    /// Returns the jobs of a range that have files, in descending order, in lists of at most a thousand. Only the folders
    /// of this range are read.
    public func jobsWithFiles(in range: Range<Int64>) throws(JobFilesError) -> JobLists {
        let groups = (range.lowerBound / Places.jobsInGroup)...(max(0, range.upperBound - 1) / Places.jobsInGroup)
        let isShort = groups.upperBound - groups.lowerBound < 16
        let present = isShort ? Array(groups) : try Folder.names(in: folder).compactMap { Int64($0) }
        return JobLists(
            places: places, range: range, groups: present.filter { groups.contains($0) }.sorted())
    }

    /// Lists of jobs, each read on request.
    public struct JobLists: Sendable {
        let places: Places
        let range: Range<Int64>
        var groups: [Int64]

        /// Returns the next list, which may be empty; nil at the end.
        public mutating func next() throws(JobFilesError) -> [JobID]? {
            guard let group = groups.popLast() else { return nil }
            return try Folder.names(in: places.group(group)).compactMap { Int64($0) }
                .filter { range.contains($0) }.sorted(by: >).map { JobID($0) }
        }
    }
}
