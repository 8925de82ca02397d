import Foundation
import Jobs
import Moving
import PostgreSQL
import PostgresStore
import SQLiteStore
import Synchronization

/// A file and a database of a server, between which jobs are moved.
final class TwoDatabases: Sendable {
    let database: TestDatabase
    private let folder: String
    /// The clock of both stores; nil for the clocks of the machine and of the server.
    let clock: (any StoreClock)?
    var path: String { folder + "/halyard.db" }
    var url: String { database.url }

    init(clock: (any StoreClock)? = nil) throws {
        database = try TestDatabase()
        self.clock = clock
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("halyard-move-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit {
        // Losing this error is harmless: the folder is temporary.
        try? FileManager.default.removeItem(atPath: folder)
    }

    private var options: PostgresStoreOptions {
        var options = PostgresStoreOptions()
        // The clock of a test jumps by days.
        if clock != nil { options.lifeLength = .seconds(1_000_000_000) }
        return options
    }

    // MARK: Stores

    func openFile() throws -> SQLiteJobStore {
        try SQLiteJobStore.open(
            DatabaseLock.acquire(forDatabaseAt: path), options: StoreOptions(walBytes: 0, watchesFiles: false),
            clock: clock ?? SystemStoreClock())
    }

    func openServer() throws -> PostgresJobStore { try database.open(options, clock: clock) }

    /// Ends the leases of all daemons of the server, as if time had passed.
    func endLeases() throws { try Connection(to: url).run("UPDATE halyard.daemon SET alive_until_ms = 0") }

    // MARK: Moving

    func moveToServer(
        home: String? = nil, sharesSpool: Bool = false, _ wrap: (any MoveTarget) -> any MoveTarget = { $0 },
        source wrapSource: (any MoveSource) -> any MoveSource = { $0 }
    ) throws -> Move.Report {
        let lock = try DatabaseLock.acquire(forDatabaseAt: path)
        defer { lock.release() }
        let source = try SQLiteMoveSource(lock, clock: clock ?? SystemStoreClock())
        let target = try PostgresMoveTarget(
            url, options: PostgresStoreOptions(), sharesSpool: sharesSpool, isClockOwn: clock != nil)
        target.home = home
        return try Self.move(from: wrapSource(source), to: wrap(target))
    }

    func moveToFile(
        _ wrap: (any MoveTarget) -> any MoveTarget = { $0 },
        source wrapSource: (any MoveSource) -> any MoveSource = { $0 }
    ) throws -> Move.Report {
        let lock = try DatabaseLock.acquire(forDatabaseAt: path)
        defer { lock.release() }
        let source = try PostgresMoveSource(url, options: options, clock: clock)
        return try Self.move(from: wrapSource(source), to: wrap(try SQLiteMoveTarget(lock)))
    }

    private static func move(from source: any MoveSource, to target: any MoveTarget) throws -> Move.Report {
        try Move(from: source, to: target) { _ in }.run(
            id: UUID().uuidString, at: Timestamp(milliseconds: 1_750_000_000_000)
        ) {}
    }
}

/// A process that dies before a certain call to one of the databases.
final class Death {
    struct Died: Error {}

    private var left: Int

    init(beforeCall number: Int) { left = number }

    func call() throws {
        if left == 0 { throw Died() }
        left -= 1
    }

    func target(_ target: any MoveTarget) -> any MoveTarget { DyingTarget(target, self) }
    func source(_ source: any MoveSource) -> any MoveSource { DyingSource(source, self) }
}

private final class DyingTarget: MoveTarget {
    private let target: any MoveTarget
    private let death: Death

    init(_ target: any MoveTarget, _ death: Death) { (self.target, self.death) = (target, death) }

    var place: String { target.place }
    var key: String { target.key }
    var content: MoveContent { target.content }

    func begin(_ mark: MoveMark, _ clock: MoveClock) throws {
        try death.call()
        try target.begin(mark, clock)
    }

    func add(_ batch: FactBatch) throws {
        try death.call()
        try target.add(batch)
    }

    func complete() throws {
        try death.call()
        try target.complete()
    }

    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws {
        try death.call()
        try target.read(table, body)
    }

    func markVerified() throws {
        try death.call()
        try target.markVerified()
    }

    func finish() throws {
        try death.call()
        try target.finish()
    }
}

private final class DyingSource: MoveSource {
    private let source: any MoveSource
    private let death: Death

    init(_ source: any MoveSource, _ death: Death) { (self.source, self.death) = (source, death) }

    var place: String { source.place }
    var key: String { source.key }
    var mark: MoveMark? { source.mark }

    func settle() throws {
        try death.call()
        try source.settle()
    }

    func clock() throws -> MoveClock { try source.clock() }
    func read(_ table: Facts, _ body: (FactBatch) throws -> Void) throws { try source.read(table, body) }

    func markMoved(_ mark: MoveMark) throws {
        try death.call()
        try source.markMoved(mark)
    }
}
