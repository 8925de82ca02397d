import Jobs
import OperationTypes
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
        guard let latch else { throw .unusable("keeps ending; it starts again later") }
        switch await latch.uncancellableWait() {
        case .announced(let announcement): return announcement
        case .refused(let refusals): throw .refused(refusals)
        case .failed(let reason): throw .unusable(reason)
        }
    }

    /// Asks a process of its own whether the program accepts other settings. The processes of this host are not affected.
    ///
    /// - Throws: ``WorkerProblem``.
    public func check(_ program: WorkerProgram) async throws(WorkerProblem) -> Announcement {
        let trial = WorkerHost(program, version: version, groups: groups, logger: logger)
        let result: Result<Announcement, WorkerProblem>
        do throws(WorkerProblem) {
            result = .success(try await trial.introduce())
        } catch {
            result = .failure(error)
        }
        await trial.close()
        return try result.get()
    }

    /// Gives later attempts new processes of this program. Running attempts keep theirs until they end.
    public func use(_ program: WorkerProgram) {
        change { core in
            if program == core.program { return nil }
            core.program = program
            core.nextIntroduction = Latch()
            return .renew
        }
    }

    func announced(_ announcement: Announcement, by worker: Dispatcher.WorkerID) {
        guard announcement.protocolVersion == WorkerProtocol.version else {
            introduced(
                worker,
                .failed(
                    "speaks version \(announcement.protocolVersion) of the protocol; this daemon speaks version \(WorkerProtocol.version)"
                ))
            return handle(.violated(worker))
        }
        change { core in
            core.announcement = announcement
            return .introduced(worker)
        }
        introduced(worker, .announced(announcement))
    }

    /// Ends the waits for this process's introduction; only the first call for a process has an effect.
    func introduced(_ worker: Dispatcher.WorkerID, _ introduction: Introduction) {
        let latch = core.withLock { core -> Latch<Introduction>? in
            guard let latch = core.introductions.removeValue(forKey: worker) else { return nil }
            // The next process introduces itself anew.
            if latch === core.nextIntroduction, !introduction.isAnnounced { core.nextIntroduction = Latch() }
            return latch
        }
        latch?.open(with: introduction)
    }
}

extension WorkerHost.Introduction {
    fileprivate var isAnnounced: Bool {
        if case .announced = self { return true }
        return false
    }
}
