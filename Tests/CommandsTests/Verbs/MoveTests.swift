import Foundation
import Jobs
import SQLiteStore
import Testing

@testable import Commands

/// The refusals of `halyard move` that need no server.
@Suite struct MoveTests {
    private func run(_ arguments: String...) async -> (code: ExitCode, output: String, errors: String) {
        let (output, errors) = (Capture(), Capture())
        let code = await HalyardCommandLine.run(
            ["move"] + arguments, in: .captured(output: output, errors: errors))
        return (code, output.text, errors.text)
    }

    private static let server = "postgresql://halyard:secret@/jobs?host=/nonexistent"

    @Test(arguments: [
        ["--from", "/a/halyard.db", "--to", "/b/halyard.db"], ["--from", server, "--to", server],
        ["--from", "/a/halyard.db", "--to", "mysql://secret@db/jobs"],
        ["--from", "postgres:", "--to", "/a/halyard.db"],
        ["--from", "/a/halyard.db", "--to", ""],
    ])
    func otherAddressesAreRefused(_ arguments: [String]) async {
        let (output, errors) = (Capture(), Capture())
        let code = await HalyardCommandLine.run(
            ["move"] + arguments, in: .captured(output: output, errors: errors))
        #expect(code == .usage)
        #expect(errors.text.hasPrefix("halyard: "))
        #expect(!errors.text.contains("secret"))
        #expect(output.text.isEmpty)
    }

    @Test func aPathCannotRearrangeTheTerminal() async {
        let run = await run("--from", "/nonexistent/\u{202E}\u{1B}[2J/halyard.db", "--to", Self.server)
        #expect(run.code == .noInput)
        #expect(run.errors.contains("/nonexistent/\\u202e\\x1b[2J"))
        #expect(!run.errors.contains("\u{202E}"))
        #expect(!run.errors.contains("\u{1B}"))
    }

    @Test func bothDatabasesMustBeNamed() async {
        #expect(await run("--from", "/a/halyard.db").code == .usage)
        #expect(await run("--to", "/a/halyard.db").code == .usage)
    }

    @Test func missingAndBusyDatabasesHaveTheirOwnExitCodes() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "halyard-move-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Losing this error is harmless: the folder is temporary.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/halyard.db"
        let missing = await run("--from", file, "--to", Self.server)
        #expect(missing.code == .noInput)
        #expect(missing.errors.contains("There is no job database at \(file)"))
        #expect(await run("--from", file, "--to", Self.server, "--dry-run").code == .noInput)

        let lock = try DatabaseLock.acquire(forDatabaseAt: file, as: .daemon)
        let store = try SQLiteJobStore.open(lock, options: StoreOptions(walBytes: 0, watchesFiles: false))
        let busy = await run("--from", file, "--to", Self.server)
        #expect(busy.code == .temporary)
        #expect(
            busy.errors.contains(
                "is in use by process \(getpid()). Use that daemon through its socket, or stop it first."))
        let json = await run("--from", file, "--to", Self.server, "--json")
        #expect(json.code == .temporary)
        #expect(json.errors.hasPrefix("{"))
        await store.close()

        let unreachable = await run("--from", file, "--to", Self.server)
        #expect(unreachable.code == .unavailable)
        #expect(unreachable.errors.contains("postgresql://halyard@/jobs"))
        #expect(!unreachable.errors.contains("secret"))
        // Nothing was changed.
        let again = try SQLiteJobStore.openReadOnly(at: file, options: StoreOptions(walBytes: 0, watchesFiles: false))
        await again.close()
    }
}
