import Glibc
import Jobs
import Synchronization

/// Knows what needs which files of the spool, and removes a file when nothing needs it any more.
///
/// 1. A file goes only when no open job names it and no request that names it is under way.
/// 2. A job is known from the moment its commit is told, before any that the same commit ended is let go: so a child keeps
///    the file of its parent.
/// 3. Nobody begins to need a file that is being removed.
final class SpoolUsers: Sendable {
    private struct Use {
        var jobs: Set<JobID> = []
        var requests = 0
        /// Of its own, or of the request it repeats. One that no job ever named is kept for a day.
        var hadJob = false
    }

    private struct State {
        var uses: [SpoolName: Use] = [:]
        var filesOfJob: [JobID: [SpoolName]] = [:]
        var leaving: Set<SpoolName> = []
        var observation: StoreObservation?

        mutating func add(_ job: JobID, _ files: [SpoolName]) {
            filesOfJob[job] = files
            for file in files {
                uses[file, default: Use()].jobs.insert(job)
                uses[file]?.hadJob = true
            }
        }

        /// Returns the files to remove.
        mutating func remove(_ job: JobID) -> [SpoolName] {
            guard let files = filesOfJob.removeValue(forKey: job) else { return [] }
            return files.filter { file in
                uses[file]?.jobs.remove(job)
                return isOver(file)
            }
        }

        mutating func isOver(_ file: SpoolName) -> Bool {
            guard let use = uses[file], use.jobs.isEmpty, use.requests == 0 else { return false }
            uses[file] = nil
            if use.hadJob { leaving.insert(file) }
            return use.hadJob
        }
    }

    private let spool: Spool
    private let store: any JobStore
    private let state = Mutex(State())

    init(spool: Spool, store: any JobStore) {
        self.spool = spool
        self.store = store
        let observation = store.observe { [weak self] change in
            if let self, case .jobs(let changes) = change { follow(changes) }
        }
        state.withLock { $0.observation = observation }
    }

    func keep<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?, now: Timestamp
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8] {
        try await removeLeftovers(now: now)
        return Spool.prefix + (try await spool.keep(chunks, size: size, now: now).text)
    }

    // MARK: Requests

    /// Keeps the files that a request names until ``release(_:)``. To be called before ``problem(of:)``.
    func hold(_ graph: NewGraph) -> [SpoolName] {
        let files = graph.jobs.flatMap { Self.files(in: $0.input) }
        if !files.isEmpty {
            state.withLock { state in
                for file in files { state.uses[file, default: Use()].requests += 1 }
            }
        }
        return files
    }

    /// The request is over: its jobs were accepted, or there are none.
    ///
    /// - Parameter isDuplicate: Its jobs were accepted before, with a copy of their own, so this one is not kept.
    func release(_ files: [SpoolName], isDuplicate: Bool = false) {
        if files.isEmpty { return }
        let over = state.withLock { state in
            files.filter { file in
                state.uses[file]?.requests -= 1
                if isDuplicate { state.uses[file]?.hadJob = true }
                return state.isOver(file)
            }
        }
        remove(over)
    }

    /// Refuses a graph that names a file which is not there.
    func problem(of graph: NewGraph) -> ControlProblem? {
        for job in graph.jobs {
            for file in Self.files(in: job.input)
            where state.withLock({ $0.leaving.contains(file) }) || !spool.holds(file) {
                return ControlProblem(
                    .invalidInput,
                    "The spool has no file \(Spool.prefix)\(file.text): it went with its last job, or after a day. Hand the file over again."
                )
            }
        }
        return nil
    }

    // MARK: Jobs

    private func follow(_ changes: [JobChange]) {
        // What is looked for needs no lock.
        let new = changes.compactMap { change -> (JobID, [SpoolName])? in
            let files = change.state.isFinal ? [] : Self.files(in: change.input)
            return files.isEmpty ? nil : (change.job, files)
        }
        let over = state.withLock { state in
            // 2.
            for (job, files) in new { state.add(job, files) }
            if state.filesOfJob.isEmpty { return [SpoolName]() }
            return changes.filter(\.state.isFinal).flatMap { state.remove($0.job) }
        }
        remove(over)
    }

    /// Reads once, at the start of a daemon and before jobs run, which open jobs name a file, and removes files that no
    /// job has named for a day. Costs nothing while the spool has no whole file.
    func recover(now: Timestamp) async throws(ControlProblem) {
        if try await spool.files().contains(where: { $0.print != nil }) { try await learnUses() }
        try await removeLeftovers(now: now)
    }

    private func learnUses() async throws(ControlProblem) {
        var filter = JobFilter(states: Set(JobState.allCases.filter { !$0.isFinal }), order: .oldestFirst, limit: 1000)
        while true {
            let page = try await asked { () throws(StoreError) in try await store.jobs(filter) }
            for job in page {
                let files = Self.files(in: job.input)
                if !files.isEmpty { state.withLock { $0.add(job.id, files) } }
            }
            guard filter.mayGoOn(after: page) else { break }
            filter.after = page.last?.id
        }
    }

    // MARK: Removing

    private func removeLeftovers(now: Timestamp) async throws(ControlProblem) {
        let old = try await spool.files().filter { now - $0.keptAt > Spool.leftoverAge }
        remove(state.withLock { state in old.filter { state.uses[$0] == nil && state.leaving.insert($0).inserted } })
    }

    private func remove(_ files: [SpoolName]) {
        for file in files {
            spool.remove(file) { [weak self] in _ = self?.state.withLock { $0.leaving.remove(file) } }
        }
    }

    // MARK: Inputs

    /// The files that fields of an input name.
    static func files(in input: JSONText?) -> [SpoolName] {
        // Most inputs name none; that is seen without reading them.
        guard let input, input.bytes.contains(Self.mark), let object = JSONObject(input) else { return [] }
        return object.fields.compactMap { $0.value.decodedString.flatMap(file) }
    }

    private static let mark = Array("\"\(Spool.prefix)".utf8)

    static func file(_ value: String) -> SpoolName? {
        // What follows a slash is the name that its owner gave it.
        value.hasPrefix(Spool.prefix)
            ? SpoolName(String(value.dropFirst(Spool.prefix.count).prefix { $0 != "/" })) : nil
    }
}

extension [UInt8] {
    /// Looks for the last byte of the part first, at the speed of `memchr`: this runs for every job that is accepted.
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        withUnsafeBytes { all in
            part.withUnsafeBytes { part in
                guard let start = all.baseAddress, let first = part.baseAddress, let last = part.last else {
                    return false
                }
                var from = part.count - 1
                while from < all.count, let found = memchr(start + from, CInt(last), all.count - from) {
                    let end = start.distance(to: found)
                    if memcmp(start + (end - part.count + 1), first, part.count) == 0 { return true }
                    from = end + 1
                }
                return false
            }
        }
    }
}
