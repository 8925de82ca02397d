import Jobs
import Logging
import OperationTypes
import Processes
import Runner
import Synchronization
import WorkerProtocol

/// The reason why a worker program cannot run its kinds.
public enum WorkerProblem: Error, Sendable, Hashable {
    /// The program refuses its settings.
    case refused([SettingRefusal])
    /// The program could not be started, or its process does not follow the protocol. The text follows its name.
    case unusable(String)
}

extension WorkerHost {
    /// Launches a process if none runs, and waits for its introduction.
    ///
    /// - Throws: ``WorkerProblem``. A later call tries again.
    public func introduce() async throws(WorkerProblem) -> Announcement {
        let now = clock.now
        var latch: Latch<Introduction>?
        change { _ in
            .needed
        } then: { core in
            latch = core.dispatcher.mayLaunch(now: now) ? core.nextIntroduction : nil
        }
        guard let latch else { throw .unusable("keeps exiting; it starts again later") }
        switch await latch.uncancellableWait() {
        case .announced(let announcement): return announcement
        case .refused(let refusals): throw .refused(refusals)
        case .failed(let reason): throw .unusable(reason)
        }
    }

    /// The time that a process has to introduce itself.
    public static var introductionLimit: Duration { Dispatcher.Limits().introduction }

    /// Starts a separate process of a program, and returns its introduction. No other processes are affected.
    ///
    /// - Parameter onAnswer: Called when the introduction, or its failure, is known; the process ends later.
    /// - Throws: ``WorkerProblem``.
    public static func check(
        _ program: WorkerProgram, version: String, groups: CgroupRoot? = nil, logger: Logger,
        onAnswer: () -> Void = {}
    ) async throws(WorkerProblem) -> Announcement {
        let trial = WorkerHost(program, version: version, groups: groups, logger: logger)
        let result: Result<Announcement, WorkerProblem>
        do throws(WorkerProblem) {
            result = .success(try await trial.introduce())
        } catch {
            result = .failure(error)
        }
        onAnswer()
        await trial.close()
        return try result.get()
    }

    /// Gives later attempts new processes of this program. Running attempts keep theirs until they end.
    ///
    /// - Parameters:
    ///   - announcement: The introduction of a process of this program, from ``check(_:)``; nil if there is none.
    ///   - always: Whether to replace the processes even if the program is unchanged, because its file may have changed.
    public func use(_ program: WorkerProgram, announced announcement: Announcement? = nil, always: Bool = false) {
        change { core in
            let isNew = program != core.program || announcement != nil && announcement != core.announcement
            if let announcement { core.announcement = announcement }
            if !isNew && !always { return nil }
            core.program = program
            core.dispatcher.limits.processes = program.processes
            core.dispatcher.limits.attempts = program.attempts
            core.nextIntroduction = Latch()
            return .renew
        }
        // A program that has never run is started only here and after a rest, since its kinds are unknown.
        change { $0.announcement == nil ? .needed : nil }
        observeRoomNow()
    }

    /// Starts no further attempts. Running attempts continue, and their processes exit when they have ended.
    public func retire() { handle(.retire) }

    /// Whether the host was retired or closed, and all its processes have exited.
    public var hasClosed: Bool { closed.isOpen }

    /// Calls `body` whenever a process announces other kinds than the process before it. It replaces the former observer.
    public func observeAnnouncements(_ body: @escaping @Sendable (Announcement) -> Void) {
        announcementObserver.withLock { $0 = body }
    }

    func refused(_ refusals: [SettingRefusal], by worker: Dispatcher.WorkerID) {
        let settings = refusals.map { "\($0.key) \($0.message)" }.joined(separator: "; ")
        core.withLock { $0.faults[worker] = WorkerFault("refuses its settings: \(settings)") }
        introduced(worker, .refused(refusals))
    }

    func announced(_ announcement: Announcement, by worker: Dispatcher.WorkerID) {
        guard announcement.protocolVersion == WorkerProtocol.version else {
            let fault = WorkerFault(
                "speaks version \(announcement.protocolVersion) of the protocol; this daemon speaks version \(WorkerProtocol.version)"
            )
            core.withLock { $0.faults[worker] = fault }
            introduced(worker, .failed(fault.clause))
            return handle(.violated(worker))
        }
        var isNew = false
        var couldNotRun = false
        change { core in
            isNew = announcement != core.announcement
            couldNotRun = core.announcement == nil && core.lastExit != nil
            core.announcement = announcement
            return .introduced(worker)
        }
        introduced(worker, .announced(announcement))
        if couldNotRun {
            logger.notice("worker \(name): is running now; its jobs no longer wait", metadata: metadata)
        }
        if isNew { announcementObserver.withLock(\.self)?(announcement) }
    }

    /// Ends the waits for this process's introduction; only the first call for a process has an effect.
    func introduced(_ worker: Dispatcher.WorkerID, _ introduction: Introduction) {
        let isAnnounced = if case .announced = introduction { true } else { false }
        takeIntroduction(of: worker, isAnnounced: isAnnounced)?.open(with: introduction)
    }

    /// Returns the wait for this process's introduction, which the caller ends; nil if it has ended.
    func takeIntroduction(of worker: Dispatcher.WorkerID, isAnnounced: Bool = false) -> Latch<Introduction>? {
        core.withLock { core in
            guard let latch = core.introductions.removeValue(forKey: worker) else { return nil }
            // The next process introduces itself anew.
            if latch === core.nextIntroduction, !isAnnounced { core.nextIntroduction = Latch() }
            return latch
        }
    }
}
