import Foundation
import PostgreSQL
import PostgresServer
import Programs
import Testing

/// A job that runs longer than the lease of its daemon.
@Suite(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed"), .timeLimit(.minutes(5)))
struct LongJobTests {
    /// Waits on a thread of its own until the only life was renewed at a moment at which the first lease was over.
    private func waitForLateRenewal(at url: String) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        var options = ConnectionOptions()
                        options.answerTimeout = .seconds(240)
                        try Connection(to: url, options: options).run(
                            """
                            DO $$
                            BEGIN
                                WHILE (SELECT max(seen_ms - started_ms) < 60000 FROM halyard.daemon) LOOP
                                    PERFORM pg_sleep(0.1);
                                END LOOP;
                            END
                            $$
                            """)
                    })
            }
        }
    }

    @Test func aJobThatOutlastsALeaseEndsInItsFirstAttempt() async throws {
        let bed = try TestBed()
        let server = try #require(PostgresServer.shared)
        let url = try server.makeDatabase()
        // The wait above is for the end of this lease.
        let member = try FleetMember("one", of: bed, database: url, lease: "60s")
        let daemon = try await member.start()
        let job = try await member.halyard("enqueue", "visit", bed.server.site + "/gate/1").output
        _ = await bed.server.requests.first { _ in true }
        try await waitForLateRenewal(at: url)
        bed.server.openGate()
        try await member.halyard("wait", job.trimmingCharacters(in: .whitespacesAndNewlines))
        let rows = try Connection(to: url).run("SELECT attempt || ' ' || outcome FROM halyard.attempts")
        #expect(rows.map { $0.string(0) } == ["1 succeeded"])
        #expect(try Connection(to: url).run("SELECT count(*) FROM halyard.daemon")[0].string(0) == "1")
        await daemon.stop()
        try server.dropDatabase(url)
    }
}
