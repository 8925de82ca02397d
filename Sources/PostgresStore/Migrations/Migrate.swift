import Glibc
import PostgreSQL

extension Connection {
    /// Creates the schema, or migrates an older one, in one transaction. Migrations of several daemons wait for each
    /// other; if one fails, the schema is unchanged. A newer schema that this release may use is unchanged too, so that
    /// daemons can be upgraded one after the other.
    ///
    /// A migration locks all tables of an older schema exclusively. It gets all locks at once, or begins again, so that
    /// it neither stops the daemons while it waits for one reader nor causes a deadlock with them.
    ///
    /// - Parameter migrations: All migrations; only tests add some.
    /// - Throws: ``PostgresOpenError``, such as `schemaTooNew`, or `unreachable` if the tables could not be locked
    ///   within a minute.
    func migrate(_ migrations: [Migration] = Migration.all) throws(PostgresOpenError) {
        let current = migrations.last!.version
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let found = try schema(), try isUsable(found, current) { return }
            do throws(PostgresError) {
                try migrateOnce(migrations)
            } catch {
                // Losing this error is harmless: a transaction whose connection is closed is undone too.
                _ = try? run("ROLLBACK")
                let isLocked = error.sqlState == SQLState.lockTimeout || error.sqlState == SQLState.deadlock
                guard isLocked, ContinuousClock.now < deadline else {
                    throw PostgresOpenError(error, server: server)
                }
                // A random pause lets daemons that wait for each other's migrations try at different times.
                usleep(.random(in: 20_000...100_000))
            }
        }
    }

    /// Migrates the schema in one transaction, unless another daemon has just done so.
    private func migrateOnce(_ migrations: [Migration]) throws(PostgresError) {
        let current = migrations.last!.version
        try run("BEGIN; SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(\(AdvisoryLock.migration))")
        let found = try readSchema()
        if let found, found.version >= current {
            try run("COMMIT")
            return
        }
        if let found {
            try run(Self.lockAll)
            try run(Migration.dropViews)
            try carryOut(migrations, after: found.version)
        } else {
            try createSchema(migrations)
        }
        try run("COMMIT")
    }

    /// Creates the schema, which does not exist, in the running transaction.
    func createSchema(_ migrations: [Migration] = Migration.all) throws(PostgresError) {
        try run(
            """
            CREATE SCHEMA halyard;
            CREATE TABLE halyard.schema_version (version bigint NOT NULL, oldest bigint NOT NULL)
            """)
        try carryOut(migrations, after: 0)
    }

    private func carryOut(_ migrations: [Migration], after version: Int64) throws(PostgresError) {
        for migration in migrations where migration.version > version {
            for sql in migration.sql { try run(sql) }
        }
        for sql in Migration.views + Migration.enqueueing { try run(sql) }
        try run(
            """
            DELETE FROM halyard.schema_version;
            INSERT INTO halyard.schema_version (version, oldest)
            VALUES (\(migrations.last!.version), \(Migration.oldest))
            """)
    }

    /// Locks all tables and views, or fails at once.
    private static let lockAll = """
        DO $$
        DECLARE
            one record;
        BEGIN
            FOR one IN SELECT relname FROM pg_class WHERE relnamespace = 'halyard'::regnamespace
                       AND relkind IN ('r', 'p', 'v') AND NOT relispartition ORDER BY relname LOOP
                EXECUTE format('LOCK TABLE halyard.%I IN ACCESS EXCLUSIVE MODE NOWAIT', one.relname);
            END LOOP;
        END $$
        """

    /// The versions of the schema; nil if there is no schema.
    ///
    /// - Throws: ``PostgresOpenError/foreignSchema(server:)`` if another program has created a schema of this name.
    func schema() throws(PostgresOpenError) -> SchemaVersion? {
        try mappingErrors { () throws(PostgresError) in try readSchema() }
    }

    private func readSchema() throws(PostgresError) -> SchemaVersion? {
        let found = try run(
            """
            SELECT to_regclass('halyard.schema_version') IS NOT NULL,
                   EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'halyard')
            """)
        guard found[0].string(0) == "t" else {
            if found[0].string(1) == "t" {
                throw PostgresError(.unexpected, sqlState: SQLState.undefinedSchema, message: "foreign")
            }
            return nil
        }
        guard let row = try run("SELECT version, oldest FROM halyard.schema_version").first,
            let version = Int64(row.string(0)), let oldest = Int64(row.string(1))
        else { return nil }
        return SchemaVersion(version: version, oldest: oldest)
    }

    /// Whether this release can use a schema as it is; false if it must migrate the schema first.
    ///
    /// - Parameter current: The version that this release migrates to.
    /// - Throws: ``PostgresOpenError/schemaTooNew(server:found:supported:)`` if it cannot use the schema at all.
    func isUsable(_ schema: SchemaVersion, _ current: Int64 = Migration.current) throws(PostgresOpenError) -> Bool {
        guard schema.oldest <= current else {
            throw .schemaTooNew(server: server, found: schema.version, supported: current)
        }
        return schema.version >= current
    }

    /// Refuses a database whose schema is not that of this release, since a move must read all of it.
    func requireOwnSchema() throws(PostgresOpenError) {
        guard let found = try schema() else { throw .missing(server: server) }
        guard try isUsable(found) else {
            throw .schemaTooOld(server: server, found: found.version, needed: Migration.current)
        }
        if found.version > Migration.current {
            throw .schemaTooNew(server: server, found: found.version, supported: Migration.current)
        }
    }

    func mappingErrors<Value>(
        _ body: () throws(PostgresError) -> Value
    ) throws(PostgresOpenError) -> Value {
        do throws(PostgresError) { return try body() } catch { throw PostgresOpenError(error, server: server) }
    }
}

/// The versions of a schema in the table `schema_version`, whose columns are the same in every release.
struct SchemaVersion {
    /// The number of the last migration.
    let version: Int64
    /// The oldest version whose release may use the schema.
    let oldest: Int64
}

/// The numbers of advisory locks. They are the same in every release, since daemons of several releases use them.
enum AdvisoryLock {
    static let migration = 0x48_61_6C_79_61_72_64
    /// Shared by every transaction that adds jobs; exclusive for the removal of a queue or of jobs.
    static let adding = migration + 1
    /// Held for a moment by the daemon that changes the halves of hot tables.
    static let rotation = migration + 2
    /// Shared by the transactions of programs that enqueue by themselves.
    static let calling = migration + 3
    /// Exclusive for "halyard move"; shared for a moment by each store that is opened.
    static let moving = migration + 4
    /// Held by a transaction that has added ranges of history, until it ends.
    static let ranges = migration + 5
    /// Held by a transaction that adds a range of history for its own jobs, until it ends.
    static let preparing = migration + 6
    /// Held by a transaction that folds counts, until it ends.
    static let folding = migration + 7
    /// The first half of the locks of identities, held while a life begins; the second half is a hash of the identity.
    static let identity = life + 1
    /// The first half of the locks of lives; the second half is the number of the life.
    static let life = 0x48_61_6C_79
}
