import ControlProtocol
import JobFiles
import Jobs
import OperationTypes

extension StoreControl {
    public func log(
        _ request: LogRequest
    ) async throws(ControlProblem) -> AsyncThrowingStream<[LogPiece], any Error> {
        if request.offset > 0, request.attempt ?? request.first == nil {
            throw ControlProblem(
                .invalidRequest, "An offset belongs to one attempt. Name the attempt, or omit the offset.")
        }
        let stream = LogStream(request, files: files, thread: fileThread, store: store)
        try await stream.open()
        return AsyncThrowingStream { try await stream.next() }
    }

    public func file(of job: JobID) async throws(ControlProblem) -> FileContent {
        let result = try await result(job)
        let isShared = store.capabilities.holders == .many
        guard let result, result.outcome == .succeeded else {
            throw .noFile(of: job, result?.outcome, isShared: isShared)
        }
        let files = files
        let opened = try await contentThread.run {
            () throws(JobFilesError) -> (file: KeptFile, reader: KeptFileReader)? in
            let lease = Lease(job: job, attempt: result.attempt)
            guard let file = try files.intactFile(of: lease) else { return nil }
            return (file, try files.open(file))
        }
        guard let opened else { throw .noFile(of: job, result.outcome, isShared: isShared) }
        let pieces = FilePieces(reader: opened.reader, size: opened.file.size, thread: fileThread)
        return FileContent(
            file: FileReport(opened.file), chunks: AsyncThrowingStream { try await pieces.next() })
    }

    /// Returns the log and the file of a job, for its details; nil also for files that cannot be read, since the verbs for
    /// the log and the file report the error.
    func report(of job: JobRecord) async -> (log: LogReport?, file: FileReport?) {
        let files = files
        // The verb for the log reports the error.
        let log = try? await fileThread.run { () throws(JobFilesError) in try files.report(of: job) }
        guard job.state == .succeeded else { return (log ?? nil, nil) }
        let lease = Lease(job: job.id, attempt: job.attempt)
        // The verb for the file reports the error.
        let file = try? await fileThread.run { () throws(JobFilesError) in try files.file(of: lease) }
        return (log ?? nil, (file ?? nil).map { FileReport($0) })
    }

    // MARK: Removing

    /// Removes the files of pruned jobs whose numbers are in the range.
    func removeFilesOfPruned(_ numbers: Range<Int64>) async throws(ControlProblem) {
        let files = files
        var lists = try await fileThread.run { () throws(JobFilesError) in try files.jobsWithFiles(in: numbers) }
        while true {
            let current = lists
            let (jobs, rest) = try await fileThread.run { () throws(JobFilesError) in
                var lists = current
                return (try lists.next(), lists)
            }
            guard let jobs else { return }
            lists = rest
            if jobs.isEmpty { continue }
            let existing = try await mappingStoreErrors(await store.existing(jobs))
            for job in jobs where !existing.contains(job) {
                try await fileThread.run { () throws(JobFilesError) in try files.remove(job) }
            }
        }
    }

    /// Removes the files that a crash left behind: files of pruned jobs, and files of attempts whose success was not
    /// stored. Files of jobs that are not final stay until these jobs end. Call it while no jobs run. Its cost does not
    /// depend on the number of jobs, unless the crash was during a prune.
    ///
    /// - Throws: ``ControlProblem`` if a folder or the database cannot be read. Retrying is safe.
    public func recoverFiles() async throws(ControlProblem) {
        let files = files
        let (isPruning, unsettled) = try await fileThread.run { () throws(JobFilesError) in
            (files.isPruning, try files.recoverUnsettledJobs())
        }
        if isPruning, store.capabilities.holders == .one {
            try await removeFilesOfPruned(0..<Int64.max)
            try await fileThread.run { () throws(JobFilesError) in try files.endPruning() }
        }
        for job in unsettled {
            let record = try await mappingStoreErrors(await store.job(job))
            try await fileThread.run { () throws(JobFilesError) in
                switch record?.state {
                case nil: try files.remove(job)
                case .succeeded?: try files.settle(job, keeping: record?.attempt)
                case let state?: if state.isFinal { try files.settle(job, keeping: nil) }
                }
            }
        }
    }

    /// Removes the files of jobs that other daemons have pruned. Jobs may run meanwhile, since each is stored before it has
    /// files. Does nothing if this daemon has the database to itself.
    ///
    /// - Throws: ``ControlProblem`` if a folder or the database cannot be read. Retrying is safe.
    public func removeFilesOfUnknownJobs() async throws(ControlProblem) {
        if store.capabilities.holders == .one { return }
        guard await pruning.wait() else { throw .endedBeforeItsTurn }
        defer { pruning.signal() }
        let files = files
        try await removeFilesOfPruned(0..<Int64.max)
        try await fileThread.run { () throws(JobFilesError) in try files.endPruning() }
    }

    /// Settles the kept files of jobs that become final.
    static func settling(_ files: JobFiles, _ thread: FileThread, in store: any JobStore) -> StoreObservation {
        store.observe { change in
            guard case .jobs(let changes) = change else { return }
            for change in changes where change.state.isFinal && files.isUnsettled(change.job) {
                // A failure leaves the job unsettled, and the next start settles it.
                @Sendable func settle(_ state: JobState, _ attempt: Int) {
                    thread.start { try? files.settle(change.job, keeping: state == .succeeded ? attempt : nil) }
                }
                if store.capabilities.holders == .one {
                    settle(change.state, change.attempt)
                    continue
                }
                // The change may be a notification, which every role of the server can send. Nothing awaits this task.
                Task {
                    // Losing an error is harmless, as above.
                    guard let record = try? await store.job(change.job), record.state.isFinal else { return }
                    settle(record.state, record.attempt)
                }
            }
        }
    }
}

extension JobFiles {
    fileprivate func report(of job: JobRecord) throws(JobFilesError) -> LogReport? {
        guard let attempt = try attemptsWithLog(of: job.id).last else { return nil }
        let lease = Lease(job: job.id, attempt: attempt)
        guard let found = try summary(of: lease, lastLines: job.state == .failed ? 10 : 0) else { return nil }
        return LogReport(
            summary: found.log,
            last: found.lines.map { line in
                var line = line
                let isCut = line.bytes.count > 500
                line.bytes = Array(line.bytes.prefix(500))
                return line.text + (isCut ? "…" : "")
            })
    }
}

extension FileReport {
    init(_ file: KeptFile) { self.init(name: file.name, size: file.size, sha256: file.sha256) }
}

/// The content of a kept file, read on demand.
private actor FilePieces {
    private static let pieceBytes = 64 << 10
    private let reader: KeptFileReader
    private let size: Int64
    private let thread: FileThread
    private var position: Int64 = 0

    init(reader: KeptFileReader, size: Int64, thread: FileThread) {
        self.reader = reader
        self.size = size
        self.thread = thread
    }

    func next() async throws(ControlProblem) -> [UInt8]? {
        if position >= size { return nil }
        let (reader, position) = (reader, position)
        let count = Int(min(Int64(Self.pieceBytes), size - position))
        let bytes = try await thread.run { () throws(JobFilesError) in try reader.read(count, at: position) }
        guard bytes.count == count else {
            throw ControlProblem(.storage, "The job's file was truncated while it was read. Run the job again.")
        }
        self.position = position + Int64(count)
        return bytes
    }
}
