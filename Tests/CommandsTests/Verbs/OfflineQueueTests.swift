import ControlProtocol
import Jobs
import SQLiteStore
import Testing

@testable import Commands

/// Queues are only created and removed explicitly.
@Suite struct OfflineQueueTests {
    @Test func pausingAMistypedQueueMakesNone() async throws {
        let shop = try await Workshop()
        let typo = try await shop.run("queues", "pause", "slwo")
        #expect(typo.code == .noInput)
        #expect(typo.errors == "halyard: Unknown queue \"slwo\"; did you mean \"slow\"? See: halyard queues list\n")
        #expect(try await shop.run("queues", "pause", "slow").output.contains("paused"))
        #expect(try await shop.run("queues", "resume", "slow").output.contains("open"))
        let set = try await shop.run("queues", "set", "slwo", "--limit", "32")
        #expect(set.code == .noInput)
        #expect(
            set.errors
                == "halyard: Unknown queue \"slwo\"; did you mean \"slow\"? To create it, add --create. See: halyard queues list\n"
        )
        #expect(try await shop.withStore { try await $0.queues().map(\.settings.name) } == ["default", "slow"])
        let made = try await shop.run("queues", "set", "fast", "--limit", "32", "--create")
        #expect(made.output.contains("fast      32"))
        #expect(try await shop.run("queues", "set", "fast", "--weight", "2").code == .success)
        // Creating an existing queue keeps its settings.
        #expect(try await shop.run("queues", "set", "fast", "--create").output.contains("fast      32       2"))
        #expect(try await shop.run("queues", "set", "mail", "--create").output.contains("mail      16       1"))
        #expect(try await shop.run("queues", "remove", "mail").code == .success)
        #expect(try await shop.withStore { try await $0.queues().map(\.settings.name) } == ["default", "fast", "slow"])
    }

    @Test func theLimitPerDaemonIsSetAndRemoved() async throws {
        let shop = try await Workshop()
        let set = try await shop.run("queues", "set", "slow", "--limit-per-daemon", "4", "--json")
        #expect(set.output.contains(#""limit_per_daemon":4"#), "\(set)")
        #expect(try await shop.run("queues").output.contains("PER DAEMON"))
        let removed = try await shop.run("queues", "set", "slow", "--limit-per-daemon", "none", "--json")
        #expect(removed.code == .success && !removed.output.contains("limit_per_daemon"), "\(removed)")
    }

    @Test func severalQueuesAreLookedUpBeforeOneIsRemoved() async throws {
        let shop = try await Workshop()
        for name in ["fast", "mail"] { _ = try await shop.run("queues", "set", name, "--create") }
        let unknown = try await shop.run("queues", "remove", "fast", "nosuch", "mial")
        #expect(unknown.code == .noInput)
        #expect(
            unknown.errors == """
                halyard: Nothing was changed, because there is no such queue. See: halyard queues list
                  unknown queue "nosuch"; there are default, fast, mail, slow
                  unknown queue "mial"; did you mean "mail"?

                """)
        #expect(try await shop.withStore { try await $0.queues().count } == 4)
        // Other refusals are known only when the removal is tried.
        let used = try await shop.run("queues", "remove", "fast", "fast", "slow", "mail")
        #expect(used.code == .data)
        #expect(used.errors.hasPrefix("halyard: removed fast\nhalyard: The queue \"slow\" is used by"))
        #expect(used.errors.hasSuffix("\n  Already removed: fast. The others were not removed.\n"), "\(used.errors)")
        #expect(try await shop.withStore { try await $0.queues().map(\.settings.name) } == ["default", "mail", "slow"])
    }

    @Test func aQueueIsRemovedWhenNothingUsesIt() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("queues", "set", "fast", "--limit", "32", "--create")
        _ = try await shop.run("enqueue", "unfurl", "http://a/", "--queue", "fast")
        let used = try await shop.run("queues", "remove", "fast")
        #expect(used.code == .data)
        #expect(
            used.errors
                == "halyard: The queue \"fast\" is used by a job that is not final. Wait for the jobs or cancel them (halyard list --open --queue fast) first.\n"
        )
        _ = try await shop.run("cancel", "1")
        let removed = try await shop.run("queues", "remove", "fast", "--json")
        #expect(removed.code == .success)
        #expect(removed.output == "{\"removed\":[\"fast\"]}\n")
        #expect(try await shop.run("enqueue", "unfurl", "http://a/", "--queue", "fast").code == .noInput)
        #expect(try await shop.run("show", "1").output.contains("fast"))
        #expect(!(try await shop.run("queues")).output.contains("fast"))
        let again = try await shop.run("queues", "remove", "fast")
        #expect(again.code == .noInput)
        let named = try await shop.run("queues", "remove", "slow")
        #expect(named.code == .data)
        #expect(named.errors.contains("is used by the definition \"upload\". Change those first."), "\(named.errors)")
        #expect(try await shop.run("queues", "remove", "default").code == .data)
    }
}
