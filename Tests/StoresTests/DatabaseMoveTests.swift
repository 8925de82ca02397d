import Foundation
import Jobs
import PostgreSQL
import PostgresServer
import PostgresStore
import SQLiteStore
import Stores
import Testing

@Suite struct DatabaseMoveTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)

    /// A new folder with a file that contains one definition, and folders with files of jobs.
    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.appending(path: "halyard-move-\(UUID().uuidString)").path
        var file: String { path + "/halyard.db" }

        init() throws {
            try FileManager.default.createDirectory(atPath: path + "/files/0/1", withIntermediateDirectories: true)
            try FileManager.default.createDirectory(atPath: path + "/spool", withIntermediateDirectories: true)
            try Data("line".utf8).write(to: URL(filePath: path + "/files/0/1/1.log"))
        }

        deinit {
            // Losing this error is harmless: the folder is temporary.
            try? FileManager.default.removeItem(atPath: path)
        }

        func populate() async throws {
            let store = try SQLiteJobStore.open(
                DatabaseLock.acquire(forDatabaseAt: file), options: StoreOptions(walBytes: 0, watchesFiles: false))
            try await store.change(
                DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]),
                now: DatabaseMoveTests.now)
            await store.close()
        }

        func move(
            to url: String, _ options: DatabaseMove.Options = DatabaseMove.Options()
        ) async throws(DatabaseMoveFailure) -> MoveReport {
            try await DatabaseMove(from: .file(path: file), to: .postgresql(url: url), options: options).run { _ in }
        }

        func moveBack(
            from url: String, _ options: DatabaseMove.Options = DatabaseMove.Options()
        ) async throws(DatabaseMoveFailure) -> MoveReport {
            try await DatabaseMove(from: .postgresql(url: url), to: .file(path: file), options: options).run { _ in }
        }

        func text(_ name: String) throws -> String { try String(contentsOfFile: path + "/" + name, encoding: .utf8) }
    }

    private static func opening(_ url: String, home: String) throws -> any StoreOpening {
        try StoreFactory.opening(at: url, for: .lasting, onServer: ServerSettings(home: home))
    }

    @Test func aMoveIsBetweenAFileAndAServer() throws {
        let (file, server) = (DatabaseAddress.file(path: "/a"), DatabaseAddress.postgresql(url: "postgresql://h/a"))
        for (source, target) in [(file, file), (server, server)] {
            let failure = #expect(throws: DatabaseMoveFailure.self) {
                try DatabaseMove(from: source, to: target, options: DatabaseMove.Options())
            }
            #expect(failure?.cause == .wrong)
        }
    }

    @Test func aMissingFileIsNotCreated() async throws {
        let folder = try Folder()
        let failure = await #expect(throws: DatabaseMoveFailure.self) {
            try await folder.move(to: "postgresql://halyard:secret@/jobs?host=\(folder.path)")
        }
        #expect(failure?.cause == .missing)
        #expect(!FileManager.default.fileExists(atPath: folder.file))
    }

    @Test func anUnreachableServerIsReportedWithoutThePassword() async throws {
        let folder = try Folder()
        try await folder.populate()
        let failure = await #expect(throws: DatabaseMoveFailure.self) {
            try await folder.move(to: "postgresql://halyard:secret@/jobs?host=\(folder.path)")
        }
        #expect(failure?.cause == .unreachable)
        #expect(failure?.description.contains("secret") == false)
    }

    @Test func theConfigurationLineHasNoPassword() throws {
        let url = "postgresql://halyard:secret@db/jobs?sslmode=verify-full&password=secret&sslrootcert=/ca.pem"
        let move = try DatabaseMove(
            from: .file(path: "/var/lib/halyard/halyard.db"), to: .postgresql(url: url),
            options: DatabaseMove.Options())
        #expect(move.configuredTarget == "postgresql://halyard@db/jobs?sslmode=verify-full&sslrootcert=/ca.pem")
        #expect(move.home == "/var/lib/halyard/postgresql")
    }

    /// Needs a server.
    @Suite(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed")) struct OnServer {
        private let server: PostgresServer
        private let url: String

        init() throws {
            server = try #require(PostgresServer.shared)
            url = try server.makeDatabase()
        }

        /// A daemon of each side opens its database, and has the files of jobs.
        @Test func theDaemonOfTheHomeGoesOn() async throws {
            let folder = try Folder()
            try await folder.populate()
            let report = try await folder.move(to: url)
            #expect(report.tables.first { $0.name == "definitions" }?.rows == 1)
            #expect(try folder.text("postgresql/files/0/1/1.log") == "line")

            let reserved = try await DatabaseMoveTests.opening(url, home: folder.path + "/postgresql")
                .reserve(as: .daemon, waiting: .zero) { _ in }
            let busy = await #expect(throws: DatabaseMoveFailure.self) { try await folder.moveBack(from: url) }
            #expect(busy?.cause == .passing)
            let opened = try await reserved.open()
            #expect(try await opened.store.definitions().definitions.count == 1)
            let identity = try #require(opened.identity?.text)
            #expect(try folder.text("postgresql/daemon-id") == identity + "\n")
            await opened.close()
            reserved.release()

            // The file says where the jobs are.
            let old = try StoreFactory.opening(at: folder.file, for: .brief, onServer: ServerSettings(home: "/"))
            let refusal = await #expect(throws: StoreOpenFailure.self) { try await old.openForReading() }
            #expect(refusal?.cause == .moved)
            #expect(refusal?.mayPass == false)

            _ = try await folder.moveBack(from: url)
            let reader = try await old.openForReading()
            #expect(try await reader.store.definitions().definitions.count == 1)
            await reader.close()
            #expect(try folder.text("files/0/1/1.log") == "line")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.filter { $0.hasPrefix("halyard.db.moved-") && !$0.hasSuffix("wal") }.count >= 1)
            try server.dropDatabase(url)
        }

        @Test func aHomeOfAnotherDatabaseIsRefused() async throws {
            let folder = try Folder()
            try await folder.populate()
            let home = folder.path + "/home"
            let other = try server.makeDatabase()
            let reserved = try await DatabaseMoveTests.opening(other, home: home).reserve(as: .daemon, waiting: .zero) {
                _ in
            }
            await (try await reserved.open()).close()
            reserved.release()
            var options = DatabaseMove.Options()
            options.home = home
            let failure = await #expect(throws: DatabaseMoveFailure.self) { try await folder.move(to: url, options) }
            #expect(failure?.cause == .refused)
            #expect(failure?.description.contains("another database") == true)
            try server.dropDatabase(url)
            try server.dropDatabase(other)
        }

        @Test func filesOfOtherDaemonsStopTheWayBackUnlessTheyMayStay() async throws {
            let folder = try Folder()
            try await folder.populate()
            _ = try await folder.move(to: url)
            let connection = try Connection(to: url)
            try connection.run(
                """
                INSERT INTO halyard.daemon (identity, name, host, version, started_ms, seen_ms, alive_until_ms, ended_ms,
                                            boot, machine)
                VALUES ('b', 'web2', 'web2', '1', 0, 0, 0, 0, '', '');
                INSERT INTO halyard.lane (queue, priority, kind, class) SELECT id, 0, 'noop', 0 FROM halyard.queue;
                INSERT INTO halyard.job (id, lane, definition, dependencies, enqueued_ms)
                SELECT 1, lane.id, definition.id, 0, 0 FROM halyard.lane, halyard.definition;
                INSERT INTO halyard.done (job, outcome, attempt, last_attempt, tries, rescues, pending, started_ms, finished_ms,
                                          value)
                VALUES (1, 4, 1, 1, 1, 0, 0, 0, 0, '{}');
                INSERT INTO halyard.kept VALUES (1, 'b');
                SELECT setval('halyard.job_number', 1);
                INSERT INTO halyard.tally_change (subject, txid, at_ms, blocked, scheduled, ready, running, succeeded, failed,
                                                  cancelled, skipped)
                SELECT -id, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0 FROM halyard.queue
                """)
            let failure = await #expect(throws: DatabaseMoveFailure.self) { try await folder.moveBack(from: url) }
            #expect(failure?.cause == .refused)
            #expect(failure?.details == ["web2: files of 1 job"])
            var options = DatabaseMove.Options()
            options.leavesFiles = true
            let report = try await folder.moveBack(from: url, options)
            #expect(report.counts[.succeeded] == 1)
            try server.dropDatabase(url)
        }

        @Test func aPreviewChangesNothing() async throws {
            let folder = try Folder()
            try await folder.populate()
            let move = try DatabaseMove(
                from: .file(path: folder.file), to: .postgresql(url: url), options: DatabaseMove.Options())
            let preview = try await move.preview()
            #expect(try Connection(to: url).run("SELECT to_regnamespace('halyard') IS NULL")[0].string(0) == "t")
            let report = try await move.run { _ in }
            #expect(preview.tables == report.tables)
            let back = try DatabaseMove(
                from: .postgresql(url: url), to: .file(path: folder.file), options: DatabaseMove.Options())
            #expect(try await back.preview().tables == report.tables)
            let again = await #expect(throws: DatabaseMoveFailure.self) { try await move.preview() }
            #expect(again?.cause == .refused)
            // Looking at a file that does not exist creates no lock.
            let empty = try Folder()
            let names = try FileManager.default.contentsOfDirectory(atPath: empty.path)
            let elsewhere = try DatabaseMove(
                from: .postgresql(url: url), to: .file(path: empty.file), options: DatabaseMove.Options())
            #expect(try await elsewhere.preview().tables == report.tables)
            #expect(try FileManager.default.contentsOfDirectory(atPath: empty.path) == names)
            try server.dropDatabase(url)
        }
    }
}
