import Jobs
import Synchronization

/// Knows which open jobs name which files of the spool, and removes a file when the last of them is final.
final class SpoolUsers: Sendable {
    private struct State {
        var jobsOfFile: [SpoolName: Set<JobID>] = [:]
        var filesOfJob: [JobID: [SpoolName]] = [:]
        var observation: StoreObservation?

        /// The files that nobody needs any more.
        mutating func remove(_ job: JobID) -> [SpoolName] {
            guard let files = filesOfJob.removeValue(forKey: job) else { return [] }
            return files.filter { file in
                jobsOfFile[file]?.remove(job)
                guard jobsOfFile[file]?.isEmpty == true else { return false }
                jobsOfFile[file] = nil
                return true
            }
        }
    }

    private let spool: Spool
    private let store: any JobStore
    private let state = Mutex(State())

    init(spool: Spool, store: any JobStore) {
        self.spool = spool
        self.store = store
        let observation = store.observe { [weak self] change in
            guard let self, case .jobs(let changes) = change else { return }
            for change in changes where change.state.isFinal { release(change.job) }
        }
        state.withLock { $0.observation = observation }
    }

    func keep<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?, now: Timestamp
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8] {
        try await removeLeftovers(now: now)
        return Spool.prefix + (try await spool.keep(chunks, size: size, now: now).text)
    }

    /// Refuses an input that names a file which is not there.
    func problem(of input: JSONText?) -> ControlProblem? {
        guard let input, let gone = Self.files(in: input).first(where: { !spool.holds($0) }) else { return nil }
        return ControlProblem(
            .invalidInput,
            "The spool has no file \(Spool.prefix)\(gone.text): it went with its last job, or after a day. Hand the file over again."
        )
    }

    /// Learns of a job that was just accepted.
    func add(_ job: JobID, input: JSONText?) async {
        guard remember(job, input: input) else { return }
        // It may have ended before it was remembered. A store that cannot be read leaves the file to a later start.
        guard let record = try? await store.job(job), record.state.isFinal else { return }
        release(job)
    }

    /// Reads once, at the start of a daemon, which open jobs name a file, and removes files that no job has named for a
    /// day. Costs nothing while the spool is empty.
    func recover(now: Timestamp) async throws(ControlProblem) {
        let files = try await spool.files()
        if files.isEmpty { return }
        var filter = JobFilter(states: Set(JobState.allCases.filter { !$0.isFinal }), order: .oldestFirst, limit: 1000)
        while true {
            let page = try await asked { () throws(StoreError) in try await store.jobs(filter) }
            for job in page { _ = remember(job.id, input: job.input) }
            if page.count < filter.limit { break }
            filter.after = page.last?.id
        }
        try await removeLeftovers(now: now)
    }

    private func removeLeftovers(now: Timestamp) async throws(ControlProblem) {
        for file in try await spool.files() where now - file.keptAt > Spool.leftoverAge {
            if state.withLock({ $0.jobsOfFile[file] == nil }) { spool.remove(file) }
        }
    }

    /// False when the input names no file.
    private func remember(_ job: JobID, input: JSONText?) -> Bool {
        guard let input else { return false }
        let files = Self.files(in: input)
        if files.isEmpty { return false }
        state.withLock { state in
            state.filesOfJob[job] = files
            for file in files { state.jobsOfFile[file, default: []].insert(job) }
        }
        return true
    }

    private func release(_ job: JobID) {
        for file in state.withLock({ $0.remove(job) }) { spool.remove(file) }
    }

    /// The files that fields of an input name.
    static func files(in input: JSONText) -> [SpoolName] {
        // Most inputs name none; that is seen without reading them.
        guard input.bytes.contains("\"\(Spool.prefix)".utf8), let object = JSONObject(input) else { return [] }
        return object.fields.compactMap { $0.value.decodedString.flatMap(file) }
    }

    static func file(_ value: String) -> SpoolName? {
        value.hasPrefix(Spool.prefix) ? SpoolName(String(value.dropFirst(Spool.prefix.count))) : nil
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: String.UTF8View) -> Bool {
        let part = Array(part)
        guard let first = part.first else { return true }
        return indices.contains { self[$0] == first && self[$0...].starts(with: part) }
    }
}
