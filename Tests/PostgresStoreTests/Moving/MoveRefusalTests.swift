import Foundation
import Jobs
import Moving
import PostgreSQL
import PostgresStore
import SQLiteStore
import Testing

@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct MoveRefusalTests {
    private let now = Timestamp(milliseconds: 1_750_000_000_000)
    private let me = Holder(identity: "me", name: "web1", host: "here", version: "1")

    private func define(_ store: any JobStore) async throws {
        try await store.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
    }

    private func withFile() async throws -> TwoDatabases {
        let both = try TwoDatabases()
        let file = try both.openFile()
        try await define(file)
        await file.close()
        return both
    }

    @Test func aFileInUseIsNotMoved() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            let file = try both.openFile()
            #expect(throws: StoreOpenError.locked(path: file.path, pid: getpid())) { try both.moveToServer() }
            await file.close()
            _ = try both.moveToServer()
        }
    }

    @Test func aServerWithALivingDaemonIsNotMoved() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let server = try both.openServer()
            let life = try await server.begin(me, now: now)
            let failure = #expect(throws: MoveFailure.self) { try both.moveToFile() }
            #expect(failure?.cause == .busy)
            #expect(failure?.details == ["web1 on here"])
            #expect(!FileManager.default.fileExists(atPath: both.path))
            try await server.leave(life.id, now: now)
            await server.close()
            _ = try both.moveToFile()
        }
    }

    @Test func noDaemonStartsDuringAMove() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let server = try both.openServer()
            try await define(server)
            await server.close()
            let source = try PostgresMoveSource(both.url, options: PostgresStoreOptions())
            let problem = #expect(throws: PostgresOpenError.self) { try both.openServer() }
            if case .beingMoved? = problem {} else { Issue.record("\(String(describing: problem))") }
            #expect(throws: MoveFailure.self) { try both.moveToFile() }
            withExtendedLifetime(source) {}
        }
    }

    @Test func aDaemonThatOpenedTheDatabaseBeforeTheMoveBeginsNoLife() async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let early = try both.openServer()
            try await define(early)
            _ = try both.moveToFile()
            await #expect(throws: StoreError.self) { _ = try await early.begin(me, now: now) }
            let step = try #require(try await early.definitions().definitions.first).id
            let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: step, queue: "default")])
            await #expect(throws: StoreError.self) { _ = try await early.enqueue([graph], now: now) }
            await early.close()
        }
    }

    @Test func aTargetWithDefinitionsIsRefused() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            let server = try both.openServer()
            try await define(server)
            await server.close()
            let failure = #expect(throws: MoveFailure.self) { try both.moveToServer() }
            #expect(failure?.cause == .refused)
            #expect(failure?.description.contains("already has definitions") == true)
            let other = #expect(throws: MoveFailure.self) { try both.moveToFile() }
            #expect(other?.cause == .refused)
            // Both databases are unchanged.
            let file = try both.openFile()
            #expect(try await file.definitions().definitions.count == 1)
            await file.close()
        }
    }

    @Test func aDatabaseThatWasMovedIsUsedByNobody() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            _ = try both.moveToServer()
            let problem = #expect(throws: StoreOpenError.self) { try both.openFile() }
            guard case .moved(_, let place, let at)? = problem else { throw Unexpected() }
            #expect(place == DatabaseAddress.postgresql(url: both.url).description)
            #expect(at == now)
            #expect(throws: StoreOpenError.self) { try SQLiteJobStore.openReadOnly(at: both.path) }
            #expect(throws: StoreOpenError.self) { try SQLiteJobStore.check(databaseAt: both.path) }
            let again = #expect(throws: MoveFailure.self) { try both.moveToServer() }
            #expect(again?.cause == .refused)

            _ = try both.moveToFile()
            let back = #expect(throws: PostgresOpenError.self) { try both.openServer() }
            if case .moved? = back {} else { Issue.record("\(String(describing: back))") }
            #expect(throws: PostgresOpenError.self) { try PostgresJobStore.check(both.url) }
        }
    }

    @Test func anUnfinishedTargetIsUnusableAndAcceptsOnlyItsOwnSource() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            let death = Death(beforeCall: 6)
            #expect(throws: Death.Died.self) { try both.moveToServer({ death.target($0) }) }
            let problem = #expect(throws: PostgresOpenError.self) { try both.openServer() }
            guard case .unfinishedMove(_, let place, isComplete: false)? = problem else { throw Unexpected() }
            #expect(place.hasSuffix("/halyard.db"))
            let other = try TwoDatabases()
            let file = try other.openFile()
            try await define(file)
            await file.close()
            let lock = try DatabaseLock.acquire(forDatabaseAt: other.path)
            let source = try SQLiteMoveSource(lock)
            let target = try PostgresMoveTarget(both.url, options: PostgresStoreOptions())
            let failure = #expect(throws: MoveFailure.self) {
                try Move(from: source, to: target) { _ in }.run(id: "1", at: now) {}
            }
            #expect(failure?.description.contains("unfinished move from") == true)
            // The source is unchanged.
            let first = try both.openFile()
            #expect(try await first.definitions().definitions.count == 1)
            await first.close()
        }
    }

    /// The source is unchanged, and the next call moves the jobs.
    @Test func aCutConnectionEndsTheMove() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            for table in [Facts.queues, .definitions, .counts] {
                let error = #expect(throws: PostgresError.self, "\(table)") {
                    try both.moveToServer { Cutting($0, at: table, both.url) }
                }
                #expect(error?.cause == .lost, "\(table)")
                let file = try both.openFile()
                #expect(try await file.definitions().definitions.count == 1)
                await file.close()
                #expect(throws: PostgresOpenError.self) { try both.openServer() }
            }
            _ = try both.moveToServer()
            let server = try both.openServer()
            #expect(try await server.definitions().definitions.count == 1)
            await server.close()
        }
    }

    @Test func aCopyThatDiffersIsNotUsed() async throws {
        try await Turns.shared.run {
            let both = try await withFile()
            let failure = #expect(throws: MoveFailure.self) {
                try both.moveToServer { Falsifying($0) }
            }
            #expect(failure?.cause == .different)
            #expect(failure?.details.first?.hasPrefix("definitions: ") == true)
            #expect(throws: PostgresOpenError.self) { try both.openServer() }
            let file = try both.openFile()
            await file.close()
            #expect(try both.moveToServer().isContinued == false)
        }
    }
}

/// Loses the definitions.
private final class Falsifying: MoveTarget {
    private let target: any MoveTarget

    init(_ target: any MoveTarget) { self.target = target }

    var place: String { target.place }
    var key: String { target.key }
    var content: MoveContent { target.content }
    func begin(_ mark: MoveMark, _ clock: MoveClock) throws { try target.begin(mark, clock) }
    func add(_ batch: FactBatch) throws { if batch.table != .definitions { try target.add(batch) } }
    func complete() throws { try target.complete() }
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try target.read(table, body) }
    func markVerified() throws { try target.markVerified() }
    func finish() throws { try target.finish() }
}

/// Loses its connection before the rows of a table.
private final class Cutting: MoveTarget {
    private let target: any MoveTarget
    private let table: Facts
    private let url: String

    init(_ target: any MoveTarget, at table: Facts, _ url: String) {
        (self.target, self.table, self.url) = (target, table, url)
    }

    var place: String { target.place }
    var key: String { target.key }
    var content: MoveContent { target.content }
    func begin(_ mark: MoveMark, _ clock: MoveClock) throws { try target.begin(mark, clock) }

    func add(_ batch: FactBatch) throws {
        if batch.table == table {
            try Connection(to: url).run(
                """
                SELECT pg_terminate_backend(pid, 60000)
                FROM   pg_stat_activity
                WHERE  application_name = 'halyard move' AND datname = current_database()
                """)
        }
        try target.add(batch)
    }

    func complete() throws { try target.complete() }
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try target.read(table, body) }
    func markVerified() throws { try target.markVerified() }
    func finish() throws { try target.finish() }
}
