import PostgreSQL

extension Connection {
    /// Creates the schema, or migrates an older one, in one transaction. Migrations of several daemons wait for each
    /// other; if one fails, the schema stays as it was.
    ///
    /// - Throws: ``PostgresOpenError``, such as `schemaTooNew`.
    func migrate() throws(PostgresOpenError) {
        if try version() == Migration.current { return }
        do throws(PostgresOpenError) {
            try mappingErrors { () throws(PostgresError) in
                _ = try run(
                    "BEGIN; SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(\(AdvisoryLock.migration))")
            }
            let found = try version()
            guard found <= Migration.current else {
                throw .schemaTooNew(server: server, found: found, supported: Migration.current)
            }
            try mappingErrors { () throws(PostgresError) in
                if found == 0 {
                    try run("CREATE SCHEMA halyard; CREATE TABLE halyard.schema_version (version bigint NOT NULL)")
                } else {
                    try run(Migration.dropViews)
                }
                for migration in Migration.all where migration.version > found {
                    for sql in migration.sql { try run(sql) }
                }
                for sql in Migration.views + Migration.enqueueing { try run(sql) }
                try run(
                    """
                    DELETE FROM halyard.schema_version;
                    INSERT INTO halyard.schema_version (version) VALUES (\(Migration.current));
                    COMMIT
                    """)
            }
        } catch {
            // Losing this error is harmless: a transaction whose connection is closed is undone too.
            _ = try? run("ROLLBACK")
            throw error
        }
    }

    /// The schema's version; 0 if there is no schema.
    ///
    /// - Throws: ``PostgresOpenError/foreignSchema(server:)`` if another program has created a schema of this name.
    func version() throws(PostgresOpenError) -> Int64 {
        try mappingErrors { () throws(PostgresError) in
            let found = try run(
                """
                SELECT to_regclass('halyard.schema_version') IS NOT NULL,
                       EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'halyard')
                """)
            guard found[0].string(0) == "t" else {
                if found[0].string(1) == "t" {
                    throw PostgresError(.unexpected, sqlState: SQLState.undefinedSchema, message: "foreign")
                }
                return 0
            }
            return Int64(try run("SELECT max(version) FROM halyard.schema_version")[0].string(0)) ?? 0
        }
    }

    func mappingErrors<Value>(
        _ body: () throws(PostgresError) -> Value
    ) throws(PostgresOpenError) -> Value {
        do throws(PostgresError) { return try body() } catch { throw PostgresOpenError(error, server: server) }
    }
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
    /// Held by a transaction that has added ranges of history, until it ends.
    static let ranges = migration + 4
    /// Held by a transaction that adds a range of history for its own jobs, until it ends.
    static let preparing = migration + 5
    /// The first half of the locks of identities, held while a life begins; the second half is a hash of the identity.
    static let identity = life + 1
    /// The first half of the locks of lives; the second half is the number of the life.
    static let life = 0x48_61_6C_79
}
