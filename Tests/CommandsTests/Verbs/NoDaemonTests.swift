import ControlProtocol
import Jobs
import Testing

@testable import Commands

/// Messages about jobs while no daemon runs.
@Suite struct NoDaemonTests {
    private static let start = "Start halyardd with the same --config as before; its database is DIRECTORY/halyard.db"

    /// Creates two jobs. The first was running when its daemon ended.
    private func shop() async throws -> Workshop {
        let shop = try await Workshop()
        for url in ["http://a/", "http://b/"] { _ = try await shop.run("enqueue", "unfurl", url) }
        try await shop.withStore { store in
            _ = try await store.exchange([], claim: ClaimRequest(slots: 1), now: Samples.now)
        }
        return shop
    }

    @Test func aResultSaysThatNoDaemonRuns() async throws {
        let shop = try await shop()
        let ready = try await shop.run("result", "2")
        #expect(ready.code == .jobOpen)
        #expect(
            ready.errors
                == "halyard: Job 2 is not final yet, and no daemon runs. The job will not run until a daemon starts. \(Self.start)\n"
        )
        let running = try await shop.run("result", "1")
        #expect(running.code == .jobOpen)
        #expect(
            running.errors
                == "halyard: Job 1 is not final yet, and no daemon runs. The job was interrupted and will run again when a daemon starts. \(Self.start)\n"
        )
    }

    @Test func aCancelledJobThatWasRunningWaitsForADaemon() async throws {
        let shop = try await shop()
        let run = try await shop.run("cancel", "1", "2")
        #expect(run.code == .success)
        #expect(run.output == "1  was interrupted; it will be cancelled when a daemon starts\n2  ⊘ cancelled\n")
        #expect(
            run.errors
                == "halyard: no daemon is running; wrote to DIRECTORY/halyard.db\nhalyard: \(Self.start)\n")
        #expect(
            try await shop.run("result", "1").errors.contains(
                "The job was interrupted and will be cancelled when a daemon starts. \(Self.start)"))
    }

    @Test func aJobThatIsCancelledIsNotSaidToRunAgain() async throws {
        let shop = try await shop()
        _ = try await shop.run("cancel", "1")
        for verb in ["show", "why"] {
            let run = try await shop.run(verb, "1")
            #expect(
                run.errors
                    == "halyard: no daemon is running; the job was interrupted and will be cancelled when a daemon starts\n"
            )
        }
    }

    @Test(arguments: [[], ["--after", "2"], ["--in", "1h"]])
    func aJobThatWaitsIsSaidToNeedADaemon(options: [String]) async throws {
        let shop = try await shop()
        _ = try await shop.run(["enqueue", "unfurl", "http://c/"] + options)
        let show = try await shop.run("show", "3")
        #expect(show.errors == "halyard: no daemon is running, so the job does not run. \(Self.start)\n")
        // The reasons already contain it.
        let why = try await shop.run("why", "3")
        #expect(why.errors.isEmpty && why.output.contains("no daemon runs. Start halyardd"))
    }

    @Test func theStatusSaysWhatHappensToInterruptedJobs() async throws {
        let shop = try await shop()
        let status = try await shop.run("status")
        #expect(status.output.hasPrefix("halyardd  stopped\n"))
        #expect(
            status.errors
                == "halyard: no daemon is running; jobs shown as running were interrupted and run again when halyardd starts. \(Self.start)\n"
        )
        let idle = try await Workshop().run("status")
        #expect(idle.errors == "halyard: no daemon is running, so no job runs. \(Self.start)\n")
        try await RunningDaemon.with(shop) { _ in
            let status = try await shop.run("status")
            #expect(status.errors == "")
            let result = try await shop.run("result", "2")
            #expect(result.errors == "halyard: Job 2 is not final yet. Wait for it with: halyard wait 2\n")
            let cancel = try await shop.run("cancel", "1")
            #expect(cancel.output == "1  is running; asked to stop\n")
        }
    }
}
