import ControlProtocol
import JobFiles
import Jobs

/// The entries of the log of one attempt or, when it follows a job, of one attempt after the other.
///
/// Changes to the files and to the job wake it. A wake-up that arrives while it reads is kept, and several become one, so a
/// slow reader costs the writer nothing.
actor LogStream {
    private let request: LogRequest
    private let files: JobFiles
    private let thread: FileThread
    private let store: any JobStore
    private let wakeups: AsyncStream<Void>
    private let observations: [StoreObservation]
    private var reader: LogReader?
    private var attempt: Int?
    private var isAtEnd = false

    init(_ request: LogRequest, files: JobFiles, thread: FileThread, store: any JobStore) {
        self.request = request
        self.files = files
        self.thread = thread
        self.store = store
        let (stream, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        wakeups = stream
        // Observe before the first read, so that no change between the two is missed.
        let job = request.job
        observations =
            request.follows
            ? [
                files.observe(job) { wake.yield() },
                store.observe { change in
                    switch change {
                    case .jobs(let changes): if changes.contains(where: { $0.job == job }) { wake.yield() }
                    case .stopped, .missed: wake.yield()
                    default: break
                    }
                },
            ] : []
    }

    /// Opens the first log.
    ///
    /// - Throws: `notFound` if there is none and the stream does not wait for one.
    func open() async throws(ControlProblem) {
        guard let job = try await mappingStoreErrors(await store.job(request.job)) else { throw .noJob(request.job) }
        try await openNext()
        let waits = request.follows && !job.state.isFinal
        if reader == nil, !waits { throw noLog(of: job) }
    }

    private func noLog(of job: JobRecord) -> ControlProblem {
        .noLog(of: job, attempt: request.attempt, isShared: store.capabilities.holders == .many)
    }

    /// Returns the next entries; nil at the end.
    func next() async throws(ControlProblem) -> [LogPiece]? {
        while !isAtEnd {
            // Read the state before the log: a final job's log is complete.
            let job = request.follows ? try await mappingStoreErrors(await store.job(request.job)) : nil
            if reader == nil { try await openNext() }
            if let pieces = try await read() { return pieces }
            guard request.follows else {
                isAtEnd = true
                return reader.map { [LogPiece(attempt: $0.lease.attempt, entry: .end(.open))] }
            }
            if reader == nil, isOver(job) {
                isAtEnd = true
                // Nothing was found, so the caller needs the reason.
                if attempt == nil, request.first == nil, let job { throw noLog(of: job) }
                return nil
            }
            for await _ in wakeups { break }
            if Task.isCancelled { return nil }
        }
        return nil
    }

    /// Whether no further log can begin.
    private func isOver(_ job: JobRecord?) -> Bool {
        guard let job, !job.state.isFinal else { return true }
        guard let wanted = request.attempt else { return false }
        return attempt != nil || job.attempt > wanted
    }

    /// Opens the requested attempt's log, or the next one.
    private func openNext() async throws(ControlProblem) {
        let (request, files, last) = (request, files, attempt)
        if request.attempt != nil, last != nil { return }
        reader = try await thread.run { () throws(JobFilesError) -> LogReader? in
            let attempts = try files.attemptsWithLog(of: request.job)
            let found =
                if let wanted = request.attempt {
                    attempts.first { $0 == wanted }
                } else if let last {
                    attempts.first { $0 > last }
                } else if let first = request.first {
                    attempts.first { $0 >= first }
                } else {
                    attempts.last
                }
            guard let found else { return nil }
            let offset = found == request.attempt ?? request.first ? request.offset : 0
            return try files.readLog(of: Lease(job: request.job, attempt: found), from: offset)
        }
        if let reader { attempt = reader.lease.attempt }
    }

    /// Returns nil if there is nothing new.
    private func read() async throws(ControlProblem) -> [LogPiece]? {
        guard let current = reader else { return nil }
        let (entries, next) = try await thread.run { () throws(JobFilesError) -> ([LogEntry], LogReader) in
            var reader = current
            return (try reader.next(), reader)
        }
        reader = next
        if next.isAtEnd {
            reader = nil
            if !request.follows { isAtEnd = true }
        }
        if entries.isEmpty { return nil }
        return entries.map { LogPiece(attempt: current.lease.attempt, entry: $0) }
    }
}
