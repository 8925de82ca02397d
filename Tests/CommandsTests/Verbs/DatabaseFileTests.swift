import API
import ControlProtocol
import Foundation
import Jobs
import SQLiteStore
import Testing

@testable import Commands

/// The properties of a database that is a file: one process holds its lock, and it has only one daemon.
@Suite struct DatabaseFileTests {
    @Test(
        arguments: [
            (
                .daemon, .unavailable,
                "but no daemon answers on DIRECTORY/halyard.sock. Name its socket with --socket."
            ),
            (.once, .temporary, "a run of halyardd --once, which has no socket. Try again after it ends."),
            (.command, .temporary, "another command. Try again after it ends."),
        ] as [(LockHolder.Role, ExitCode, String)])
    func errorsNameTheHolderOfALock(role: LockHolder.Role, code: ExitCode, rest: String) async throws {
        let shop = try await Workshop()
        let lock = try DatabaseLock.acquire(forDatabaseAt: shop.database, as: role)
        defer { lock.release() }
        let run = try await shop.run("enqueue", "unfurl", "http://a/")
        #expect(run.code == code)
        #expect(run.errors == "halyard: DIRECTORY/halyard.db is in use by process \(getpid()), \(rest)\n")
        // Reading needs no lock.
        #expect(try await shop.run("list").code == .success)
    }

    @Test func noDatabaseIsCreated() async throws {
        let shop = try await Workshop()
        let missing = shop.directory.appending(path: "other.db").path
        for verb in [["list"], ["enqueue", "unfurl", "http://a/"]] {
            let run = try await shop.run(verb, database: missing)
            #expect(run.code == .unavailable)
            #expect(run.errors.contains("There is no database at DIRECTORY/other.db either"))
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }

    @Test func aForeignFileIsRefused() async throws {
        let shop = try await Workshop()
        let path = try shop.file("text.db", String(repeating: "not a database\n", count: 100))
        let run = try await shop.run(["enqueue", "unfurl", "http://a/"], database: path)
        #expect(run.code == .inputOutput)
        #expect(run.errors.contains("is not an SQLite database"))
    }

    @Test func aDaemonThatDoesNotAnswerIsNotStopped() async throws {
        let shop = try await Workshop()
        #expect(try await shop.run("status").output.hasPrefix("halyardd  stopped\n"))
        let lock = try DatabaseLock.acquire(forDatabaseAt: shop.database, as: .daemon)
        defer { lock.release() }
        let status = try await shop.run("status")
        #expect(status.output.hasPrefix("halyardd  unreachable  pid \(getpid())\n"))
        #expect(status.output.contains("it is starting or stopping, or it listens on another socket (--socket)"))
        let json = try await shop.run("status", "--json")
        #expect(json.output.hasPrefix("{\"state\":\"unreachable\",\"pid\":\(getpid()),"))
        let watch = try await shop.run("watch")
        #expect(watch.code == .unavailable)
        #expect(
            watch.errors
                == "halyard: Watching needs the daemon; process \(getpid()) holds DIRECTORY/halyard.db, but does not answer on DIRECTORY/halyard.sock: it is starting or stopping, or it listens on another socket (--socket).\n"
        )
    }

    @Test func aRunThatEndsByItselfHasNoSocket() async throws {
        let shop = try await Workshop()
        let lock = try DatabaseLock.acquire(forDatabaseAt: shop.database, as: .once)
        defer { lock.release() }
        let watch = try await shop.run("watch")
        #expect(
            watch.errors
                == "halyard: Watching needs the daemon; process \(getpid()) holds DIRECTORY/halyard.db: a run of halyardd --once, which has no socket.\n"
        )
    }

    /// The socket listens but never responds, as during a long recovery.
    @Test func aDaemonThatListensAndIsSilentIsUnreachable() async throws {
        let shop = try await Workshop()
        let lock = try DatabaseLock.acquire(forDatabaseAt: shop.database, as: .daemon)
        defer { lock.release() }
        let socket = try ControlSocket(path: shop.socket)
        defer { socket.close() }
        let status = try await shop.run(["status"], statusPatience: .milliseconds(20))
        #expect(status.code == .success)
        #expect(status.output.hasPrefix("halyardd  unreachable  pid \(getpid())\n"))
    }

    @Test func daemonsAreListed() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            let holder = Holder(
                identity: "a", name: "one", host: "web.example", version: "1.0", queues: ["mail", "net"])
            _ = try await daemon.store.begin(holder, now: Samples.now + .seconds(-90))
            let run = try await shop.run("daemons")
            #expect(run.code == .success)
            try Golden.expect(run.output, "verbs/daemons.txt")
            try Golden.expect(try await shop.run("daemons", "--json").output, "verbs/daemons.json")
        }
    }
}
