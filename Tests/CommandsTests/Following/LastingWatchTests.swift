import Client
import ControlProtocol
import JobFiles
import Jobs
import StoreControl
import Stores
import Synchronization
import Testing

@testable import Commands

/// A watch whose daemon has stopped: nothing listens on the socket, but the database exists.
@Suite struct LastingWatchTests {
    /// - Parameter failures: The errors of opening the database, in order, before it succeeds.
    private func session(
        _ shop: Workshop, failures: Failures = Failures(), errors: Capture = Capture()
    ) async throws -> Session {
        let control = SocketControl(path: shop.socket)
        // The response names the database.
        try await RunningDaemon.with(shop) { _ in _ = try await control.queues() }
        return Session(
            control: control, backend: .daemon(socket: shop.socket),
            surroundings: .captured(output: Capture(), errors: errors), isJSON: false,
            waitForDaemon: { () throws(ControlProblem) in try await control.waitForDaemon() },
            openStored: { (path) throws(StoreOpenFailure) in
                if let failure = failures.next() { throw failure }
                let opened = try await StoreFactory.opening(
                    at: path, for: .brief, onServer: ServerSettings(home: "/nonexistent")
                ).openForReading()
                return Session(
                    control: StoreControl(store: opened.store, database: path, version: "", now: { Samples.now }),
                    backend: .daemon(socket: shop.socket),
                    surroundings: .captured(output: Capture(), errors: errors), isJSON: false,
                    waitForDaemon: { () throws(ControlProblem) in },
                    openStored: nil, close: opened.close)
            }, close: {})
    }

    private final class Failures: Sendable {
        private let state: Mutex<(left: [StoreOpenFailure], opened: Int)>

        init(_ causes: StoreOpenFailure.Cause...) {
            state = Mutex((causes.map { StoreOpenFailure($0, "it fails") }, 0))
        }

        var opened: Int { state.withLock(\.opened) }

        func next() -> StoreOpenFailure? {
            state.withLock { state in
                state.opened += 1
                return state.left.isEmpty ? nil : state.left.removeFirst()
            }
        }
    }

    /// The lines that a watch of the scope prints, and its failure.
    private func told(
        _ session: Session, _ scope: WatchScope, patience: Duration = .zero
    ) async throws -> (lines: [String], failure: CommandFailure?) {
        let lines = Mutex<[String]>([])
        var watch = LastingWatch(session, scope, patience: patience) { notice in
            let line =
                switch notice {
                case .event(.job(let job)): "\(job.id) \(job.state.name)"
                case .event(let event): "\(event)"
                default: notice.text?.plain ?? ""
                }
            lines.withLock { $0.append(line) }
        }
        do {
            try await watch.run()
            return (lines.withLock(\.self), nil)
        } catch let failure as CommandFailure {
            return (lines.withLock(\.self), failure)
        }
    }

    @Test func whatIsFinalIsReadFromTheDatabase() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=/srv/x")
        _ = try await shop.run("cancel", "graph:1")
        try await shop.runReadyJobs { _ in .failed(JobFailure(code: "broken", message: "It broke.")) }
        #expect(try await told(try await session(shop), .job(JobID(1))).lines == ["1 failed", "final"])
        let graph = try await told(try await session(shop), .graph(GraphID(1)))
        #expect(graph.lines == ["2 cancelled", "3 cancelled", "final"])
        // The note on a failure comes from the database, too.
        let errors = Capture()
        let session = try await session(shop, errors: errors)
        try await FailureNotes(session: session).report([JobID(1): .failed])
        try session.surroundings.errors.flush()
        #expect(errors.text.contains("job 1 failed: broken: It broke. See: halyard show 1"))
    }

    @Test func theRestOfAFinalJobsLogIsReadFromItsFiles() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        try await shop.runReadyJobs { _ in .failed(JobFailure(code: "broken", message: "It broke.")) }
        let files = JobFiles(nextTo: shop.database) { Samples.now }
        for attempt in 1...3 {
            let log = try files.beginLog(of: Lease(job: JobID(1), attempt: attempt), limit: 1 << 20)
            log.append(Array("line 1 of \(attempt)\nline 2 of \(attempt)\n".utf8))
            log.finish()
        }
        func rest(_ request: LogRequest) async throws -> [String] {
            var lines: [String] = []
            var log = LastingLog(try await session(shop), request, patience: .zero) { notice in
                guard case .pieces(let pieces) = notice else { return }
                for piece in pieces {
                    if case .line(let line) = piece.entry { lines.append(line.text) }
                }
            }
            try await log.run()
            return lines
        }
        let job = JobID(1)
        #expect(try await rest(LogRequest(job: job, follows: true)) == ["line 1 of 3", "line 2 of 3"])
        #expect(try await rest(LogRequest(job: job, attempt: 2, offset: 12, follows: true)) == ["line 2 of 2"])
        #expect(
            try await rest(LogRequest(job: job, first: 2, offset: 12, follows: true))
                == ["line 2 of 2", "line 1 of 3", "line 2 of 3"])
        #expect(try await rest(LogRequest(job: job, first: 4, follows: true)) == [])
        let missing = await #expect(throws: ControlProblem.self) {
            try await rest(LogRequest(job: job, attempt: 4, follows: true))
        }
        #expect(missing?.code == .notFound)
    }

    @Test func whatIsOpenWaitsForTheNextDaemon() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        let atOnce = try await told(try await session(shop), .job(JobID(1)))
        #expect(atOnce.lines.isEmpty)
        #expect(atOnce.failure?.exit == .temporary)
        let later = try await told(try await session(shop), .job(JobID(1)), patience: .milliseconds(1))
        #expect(
            later.lines == [
                "the daemon stopped and job 1 is not final; waiting up to 1ms for it to come back. Start halyardd with the same --config as before; its database is \(shop.database)"
            ])
        #expect(later.failure?.exit == .temporary)
    }

    @Test(.timeLimit(.minutes(5))) func whatRunsAgainIsToldOnce() async throws {
        let shop = try await Workshop()
        let output = Capture()
        let watching = Mutex<Task<Workshop.Run, any Error>?>(nil)
        try await RunningDaemon.with(shop) { daemon in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            _ = try await daemon.claim()
            watching.withLock { $0 = Task { try await shop.run(["watch"], output: output) } }
            await output.waitFor("running")
        }
        let again = Mutex<[ClaimedJob]>([])
        try await RunningDaemon.with(shop) { store in
            _ = try await store.rescueOrphans(maxRescues: 3, now: Samples.now)
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), now: Samples.now).claimed
            again.withLock { $0 = claimed }
        } _: { daemon in
            let again = again.withLock(\.self)
            await output.waitFor("follow\n2026-07-25T10:00:00.000Z  job 1  unfurl  ▶ running")
            try await daemon.finish(again[0], .succeeded(.emptyObject))
            await output.waitFor("succeeded")
        }
        let task = watching.withLock(\.self)
        task?.cancel()
        _ = try await task?.value
        let lines = output.text.split(separator: "\n").map { $0.dropFirst(26) }
        // The job ran twice.
        #expect(lines.filter { $0.contains("running") }.count == 2, "\(output.text)")
        #expect(lines.count == 4, "\(output.text)")
    }

    @Test func whereTheDatabaseMayNotBeReadTheNextDaemonTells() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("cancel", "1")
        let session = try await session(shop, failures: Failures(.unreadable))
        let told = try await told(session, .job(JobID(1)), patience: .milliseconds(1))
        #expect(told.lines.count == 1 && told.lines[0].hasPrefix("the daemon stopped; waiting up to 1ms"))
        #expect(told.failure?.exit == .temporary)
    }

    @Test func onlyADatabaseInUseIsTriedAgain() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        func read(_ failures: Failures, patience: Duration) async throws -> JobID? {
            try await session(shop, failures: failures).readStored(patience: patience) {
                try await $0.job(JobID(1)).job.id
            }
        }
        let busy = Failures(.busy, .reserved(pid: nil))
        #expect(try await read(busy, patience: .seconds(60)) == JobID(1))
        let impatient = Failures(.busy)
        #expect(try await read(impatient, patience: .zero) == nil)
        let missing = Failures(.missing)
        #expect(try await read(missing, patience: .seconds(60)) == nil)
        #expect([busy, impatient, missing].map(\.opened) == [3, 1, 1])
    }

    /// Reading the database is optional, so its errors must not end the watch.
    @Test(arguments: ControlProblem.Code.allCases)
    func aDatabaseThatCannotBeReadLeavesItToTheNextDaemon(code: ControlProblem.Code) async throws {
        let shop = try await Workshop()
        let session = try await session(shop)
        func read() async throws -> JobID? {
            try await session.readStored(patience: .zero) { _ in throw ControlProblem(code, "It cannot be read.") }
        }
        if code == .notFound {
            await #expect(throws: ControlProblem.self) { try await read() }
        } else {
            #expect(try await read() == nil)
        }
    }

    /// The outcome and the exit code are known without the reason.
    @Test func anUnreadableReasonIsNoError() async throws {
        let shop = try await Workshop()
        let errors = Capture()
        let session = try await session(
            shop, failures: Failures(.missing), errors: errors)
        try await FailureNotes(session: session).report([JobID(1): .failed])
        try session.surroundings.errors.flush()
        #expect(errors.text.contains("the reasons for the failures are unknown: No daemon listens"))
    }
}
