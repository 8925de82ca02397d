import ControlProtocol
import Glibc
import Jobs
import Synchronization

/// Tracks which jobs and requests need which files of the spool (see ``SpoolUses``), and removes a file when
/// nothing needs it any more.
///
/// Each start reads the same facts from the store, so a crash loses no file. If a crash prevents the removal of
/// a file, the file is a leftover and is removed after a day.
///
/// The store does not report the inputs of jobs that other daemons accept. If there may be others, which may share the
/// folder, the uses are read again before files are removed.
final class SpoolUsers: Sendable {
    private struct State {
        var uses: SpoolUses
        var observation: StoreObservation?
        /// Files that no known job needs, while ``mayMissJobs``.
        var doubtful: Set<SpoolName> = []
        var mustLook = false
        var isLooking = false
    }

    /// The shortest time between two looks at all jobs, each of which also rests twenty times as long as it took.
    private static let pause = Duration.seconds(60)

    private let spool: Spool
    private let store: any JobStore
    /// The identity of the daemon; nil if every daemon of the database can read the spool.
    private let home: String?
    private let mayMissJobs: Bool
    private let state: Mutex<State>

    init(spool: Spool, store: any JobStore, home: String? = nil) {
        self.spool = spool
        self.home = home
        self.store = store
        mayMissJobs = store.capabilities.holders == .many
        state = Mutex(State(uses: SpoolUses(mayMissJobs: mayMissJobs)))
        let observation = store.observe { [weak self] change in
            switch change {
            case .jobs(let changes): self?.follow(changes)
            case .accepted(let jobs): self?.expect(jobs)
            case .missed: self?.doubt([])
            default: break
            }
        }
        state.withLock { $0.observation = observation }
    }

    func keep<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, size: Int64?, now: Timestamp
    ) async throws(ControlProblem) -> String where Chunks.Element == [UInt8] {
        try await removeLeftovers(now: now)
        let file = try await spool.keep(chunks, size: size, now: now, home: home) { [self] in
            spool.amount(of: state.withLock(\.uses.keptForRetry))
        }
        return SpooledFile.prefix + file.text
    }

    var report: SpoolReport {
        let kept = spool.amount(of: state.withLock(\.uses.keptForRetry))
        let all = spool.amount
        return SpoolReport(
            files: all.files, bytes: all.bytes, maxBytes: spool.maxBytes, keptFiles: kept.files, keptBytes: kept.bytes)
    }

    // MARK: Requests

    /// Keeps the files that a request names until ``release(_:isDuplicate:)``. Call it before ``problem(of:)``.
    func hold(_ graph: NewGraph) -> [SpoolName] {
        let files = graph.jobs.flatMap { SpooledFile.files(in: $0.input) }
        if !files.isEmpty { state.withLock { $0.uses.begin(files) } }
        return files
    }

    /// Releases the files of a request that is over, whether or not its jobs were accepted.
    ///
    /// - Parameter isDuplicate: Whether an earlier request with the same key was accepted. Its jobs have their
    ///   own copies of the files, so these copies are not kept.
    func release(_ files: [SpoolName], isDuplicate: Bool = false) {
        if files.isEmpty { return }
        remove(state.withLock { $0.uses.end(files, isDuplicate: isDuplicate) })
    }

    /// Returns a problem if a graph names a file that the spool does not have, or a job names files of several daemons.
    /// Only its own daemon knows whether it has a file.
    func problem(of graph: NewGraph) -> ControlProblem? {
        for job in graph.jobs {
            let files = SpooledFile.files(in: job.input)
            if Set(files.compactMap(\.home)).count > 1 {
                return ControlProblem(.invalidInput, EnqueueWords.severalHomes)
            }
            for file in files where file.home == nil || file.home == home {
                let isMissing = state.withLock({ $0.uses.isLeaving(file) }) || !spool.holds(file)
                guard isMissing else { continue }
                return ControlProblem(
                    .invalidInput,
                    "The spool has no file \(SpooledFile.prefix)\(file.text): it was removed when its job succeeded or was pruned, or after a day without a job. Send the file again."
                )
            }
        }
        return nil
    }

    // MARK: Jobs

    private func follow(_ changes: [JobChange]) {
        // Search the inputs before taking the lock.
        let added = changes.compactMap { change -> (job: JobID, files: [SpoolName])? in
            let files = change.state == .succeeded ? [] : SpooledFile.files(in: change.input)
            return files.isEmpty ? nil : (change.job, files)
        }
        let ended = changes.lazy.filter(\.state.isFinal).map { (job: $0.job, isSuccess: $0.state == .succeeded) }
        remove(state.withLock { $0.uses.follow(added: added, ended: ended) })
    }

    /// Keeps the files of jobs that were accepted and are not written yet.
    private func expect(_ jobs: [UnwrittenJob]) {
        let added = jobs.compactMap { job -> (job: JobID, files: [SpoolName])? in
            let files = SpooledFile.files(in: job.input)
            return files.isEmpty ? nil : (job.job, files)
        }
        if added.isEmpty { return }
        remove(state.withLock { $0.uses.follow(added: added, ended: EmptyCollection()) })
    }

    /// Releases the files of pruned jobs whose numbers are in the range.
    func releasePruned(_ numbers: Range<Int64>) async {
        let jobs = state.withLock(\.uses.unsuccessfulJobs).filter { numbers.contains($0.rawValue) }
        for job in jobs {
            do throws(StoreError) {
                guard try await store.job(job) == nil else { continue }
            } catch {
                // The store has stopped. The next start reads which jobs remain.
                return
            }
            remove(state.withLock { $0.uses.remove(job) })
        }
    }

    /// Reads which jobs need a file, and removes files that no job has used for a day. Call it once, when the
    /// daemon starts and before jobs run. It reads no jobs if the spool contains no complete file.
    func recover(now: Timestamp) async throws(ControlProblem) {
        if try await spool.files().contains(where: { $0.print != nil }) { try await learnUses() }
        try await removeLeftovers(now: now)
    }

    /// Reads which jobs need a file.
    ///
    /// - Returns: The files of jobs that have succeeded or were pruned without a report of the store.
    @discardableResult
    private func learnUses() async throws(ControlProblem) -> [SpoolName] {
        var gone = state.withLock(\.uses.jobs)
        var position: UnwrittenPage.Position?
        repeat {
            let page = try await mappingStoreErrors(await store.unwritten(from: position))
            expect(page.jobs)
            gone.subtract(page.jobs.map(\.job))
            position = page.next
        } while position != nil
        // Read the written jobs after the unwritten ones: a job that is written in between is in at least one
        // of the two.
        var filter = JobFilter(
            states: Set(JobState.allCases.filter { $0 != .succeeded }), order: .oldestFirst, limit: 1000)
        while true {
            let page = try await mappingStoreErrors(await store.jobs(filter))
            for job in page { learn(job) }
            gone.subtract(page.map(\.id))
            guard filter.mayContinue(after: page) else { break }
            filter.after = page.last?.id
        }
        return state.withLock { state in gone.flatMap { state.uses.remove($0) } }
    }

    /// Reads which files jobs need that the store has not reported.
    func learn(_ jobs: [JobID]) async throws(StoreError) {
        for id in jobs {
            if let job = try await store.job(id), job.state != .succeeded { learn(job) }
        }
    }

    private func learn(_ job: JobRecord) {
        let files = SpooledFile.files(in: job.input)
        if files.isEmpty { return }
        state.withLock { state in
            state.uses.add(job.id, files)
            if job.state.isFinal { state.uses.keepForRetry(job.id) }
        }
    }

    // MARK: Removing

    private func removeLeftovers(now: Timestamp) async throws(ControlProblem) {
        let old = try await spool.files().filter { now - $0.keptAt > Spool.leftoverAge }
        if mayMissJobs {
            let unneeded = state.withLock { $0.uses.unneeded(among: old) }
            if !unneeded.isEmpty { try await removeAfterLook(unneeded) }
        } else {
            removeNow(state.withLock { $0.uses.leave(old) })
        }
    }

    private func remove(_ files: [SpoolName]) {
        if files.isEmpty { return }
        if mayMissJobs { doubt(files) } else { removeNow(files) }
    }

    /// Looks soon whether these files are needed, and which jobs have ended without a report.
    private func doubt(_ files: [SpoolName]) {
        guard mayMissJobs else { return }
        let isFirst = state.withLock { state in
            state.doubtful.formUnion(files)
            state.mustLook = true
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard isFirst else { return }
        // Nothing awaits this task: it ends when there is nothing more to look for.
        Task(priority: .low) { [weak self] in
            while let pause = await self?.look() {
                // Nobody cancels the task.
                try? await Task.sleep(for: pause)
            }
        }
    }

    /// Looks once, if that is wanted.
    ///
    /// - Returns: The time until the next look; nil if none was wanted.
    private func look() async -> Duration? {
        let startedAt = ContinuousClock.now
        let doubtful = state.withLock { state -> Set<SpoolName>? in
            guard state.mustLook else {
                state.isLooking = false
                return nil
            }
            state.mustLook = false
            defer { state.doubtful = [] }
            return state.doubtful
        }
        guard let doubtful else { return nil }
        do throws(ControlProblem) {
            try await removeAfterLook(Array(doubtful))
        } catch {
            // The store cannot be read now, so the files stay until it can.
            state.withLock { state in
                state.doubtful.formUnion(doubtful)
                state.mustLook = true
            }
        }
        return max(Self.pause, (ContinuousClock.now - startedAt) * 20)
    }

    /// Reads the uses again, then removes those of the files that nothing needs.
    func removeAfterLook(_ files: [SpoolName]) async throws(ControlProblem) {
        guard try await spool.files().contains(where: { $0.print != nil }) || !files.isEmpty else { return }
        let gone = try await learnUses()
        removeNow(state.withLock { $0.uses.leave(files + gone) })
    }

    private func removeNow(_ files: [SpoolName]) {
        for file in files {
            spool.remove(file) { [weak self] in self?.state.withLock { $0.uses.hasLeft(file) } }
        }
    }
}
