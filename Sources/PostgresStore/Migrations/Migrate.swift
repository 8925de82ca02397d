import PostgreSQL

extension Connection {
    /// Creates the schema, or migrates an older one, in one transaction. Migrations of several daemons wait for each
    /// other; if one fails, the schema stays as it was. A newer schema that this release may use stays as it is, so that
    /// daemons are upgraded one after the other.
    ///
    /// - Throws: ``PostgresOpenError``, such as `schemaTooNew`.
    func migrate() throws(PostgresOpenError) {
        if let found = try schema(), try isUsable(found) { return }
        do throws(PostgresOpenError) {
            try mappingErrors { () throws(PostgresError) in
                _ = try run(
                    "BEGIN; SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(\(AdvisoryLock.migration))")
            }
            let found = try schema()
            if let found, try isUsable(found) {
                // Another daemon has just migrated it.
                try mappingErrors { () throws(PostgresError) in _ = try run("COMMIT") }
                return
            }
            try mappingErrors { () throws(PostgresError) in
                if found == nil {
                    try run(
                        """
                        CREATE SCHEMA halyard;
                        CREATE TABLE halyard.schema_version (version bigint NOT NULL, oldest bigint NOT NULL)
                        """)
                } else {
                    try run(Migration.dropViews)
                }
                for migration in Migration.all where migration.version > found?.version ?? 0 {
                    for sql in migration.sql { try run(sql) }
                }
                for sql in Migration.views + Migration.enqueueing { try run(sql) }
                try run(
                    """
                    DELETE FROM halyard.schema_version;
                    INSERT INTO halyard.schema_version (version, oldest)
                    VALUES (\(Migration.current), \(Migration.oldest));
                    COMMIT
                    """)
            }
        } catch {
            // Losing this error is harmless: a transaction whose connection is closed is undone too.
            _ = try? run("ROLLBACK")
            throw error
        }
    }

    /// The versions of the schema; nil if there is no schema.
    ///
    /// - Throws: ``PostgresOpenError/foreignSchema(server:)`` if another program has created a schema of this name.
    func schema() throws(PostgresOpenError) -> SchemaVersion? {
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
                return nil
            }
            guard let row = try run("SELECT version, oldest FROM halyard.schema_version").first,
                let version = Int64(row.string(0)), let oldest = Int64(row.string(1))
            else { return nil }
            return SchemaVersion(version: version, oldest: oldest)
        }
    }

    /// Whether this release can use a schema as it is; false if it must migrate the schema first.
    ///
    /// - Throws: ``PostgresOpenError/schemaTooNew(server:found:supported:)`` if it cannot use the schema at all.
    func isUsable(_ schema: SchemaVersion) throws(PostgresOpenError) -> Bool {
        guard schema.oldest <= Migration.current else {
            throw .schemaTooNew(server: server, found: schema.version, supported: Migration.current)
        }
        return schema.version >= Migration.current
    }

    func mappingErrors<Value>(
        _ body: () throws(PostgresError) -> Value
    ) throws(PostgresOpenError) -> Value {
        do throws(PostgresError) { return try body() } catch { throw PostgresOpenError(error, server: server) }
    }
}

/// The versions of a schema in the table `schema_version`, whose columns are the same in every release.
struct SchemaVersion {
    /// The last migration.
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
    /// The first half of the locks of identities, held while a life begins; the second half is a hash of the identity.
    static let identity = life + 1
    /// The first half of the locks of lives; the second half is the number of the life.
    static let life = 0x48_61_6C_79
}
