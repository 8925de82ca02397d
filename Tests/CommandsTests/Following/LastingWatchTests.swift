import Client
import Control
import Jobs
import SQLiteStore
import Synchronization
import Testing

@testable import Commands

/// A daemon that has gone while its jobs were followed: nobody answers on its socket, and its database is there.
@Suite struct LastingWatchTests {
    private func session(_ shop: Workshop, canRead: Bool = true) -> Session {
        let control = SocketControl(path: shop.socket)
        return Session(
            control: control, place: .daemon(socket: shop.socket),
            waitForDaemon: { () throws(ControlProblem) in try await control.waitForDaemon() },
            openStored: { (path) throws(StoreOpenError) in
                guard canRead else { throw .unreadableFile(path: path) }
                let store = try SQLiteJobStore.openReadOnly(at: path, options: .brief)
                return Session(
                    control: StoreControl(store: store, database: path, version: "", now: { Samples.now }),
                    place: .daemon(socket: shop.socket), waitForDaemon: { () throws(ControlProblem) in },
                    openStored: nil, close: { await store.close() })
            }, daemonDatabase: shop.database, close: {})
    }

    /// What a watch of the scope tells, with how it fails.
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
        #expect(try await told(session(shop), .job(JobID(1))).lines == ["1 failed", "final"])
        let graph = try await told(session(shop), .graph(GraphID(1)))
        #expect(graph.lines == ["2 cancelled", "3 cancelled", "final"])
        // Why it failed is read there, too.
        let errors = Capture()
        let surroundings = Surroundings.captured(output: Capture(), errors: errors)
        try await FailureNotes(session: session(shop), surroundings: surroundings).tell([JobID(1): .failed])
        try surroundings.errors.flush()
        #expect(errors.text.contains("job 1 failed: broken: It broke. See: halyard show 1"))
    }

    @Test func whatIsOpenWaitsForTheNextDaemon() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        let atOnce = try await told(session(shop), .job(JobID(1)))
        #expect(atOnce.lines.isEmpty)
        #expect(atOnce.failure?.exit == .temporary)
        let later = try await told(session(shop), .job(JobID(1)), patience: .milliseconds(1))
        #expect(
            later.lines == [
                "the daemon is gone and job 1 is not final; waiting up to 1ms for it to come back. Start it with: halyardd --database \(shop.database)"
            ])
        #expect(later.failure?.exit == .temporary)
    }

    @Test func whereTheDatabaseMayNotBeReadTheNextDaemonTells() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("cancel", "1")
        let told = try await told(session(shop, canRead: false), .job(JobID(1)), patience: .milliseconds(1))
        #expect(told.lines.count == 1 && told.lines[0].hasPrefix("the daemon is gone; waiting up to 1ms"))
        #expect(told.failure?.exit == .temporary)
    }
}
