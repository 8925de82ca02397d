import Jobs
import PostgreSQL
import StoreParts

/// Rotates the hot tables, and adds ranges of history ahead of the jobs, on a connection of its own.
final class Rotor {
    private let link: Link
    private let options: PostgresStoreOptions
    private var rotations: [HotTable: Rotation] = [:]

    /// The size up to which a half counts as empty: indexes have a page even without rows.
    private static let emptyBytes: Int64 = 65_536
    /// The number of bytes for each row, with its index entries, at which a half contains mostly deleted rows.
    private static let bytesPerRow: Int64 = 1000
    /// How many rows one transaction moves, and how many transactions one look makes.
    private static let rowsPerMove = 1000
    private static let movesPerLook = 10

    init(_ link: Link, options: PostgresStoreOptions) {
        self.link = link
        self.options = options
    }

    /// Looks at all hot tables and takes the next step of each rotation.
    func look() throws(PostgresError) {
        try addRanges()
        var sizes: [String: Int64] = [:]
        var files: [String: Int64] = [:]
        var halves: Int64 = 0
        try run(Statements.sizes, .texts(HotTable.allCases.flatMap { [$0.name(half: 0), $0.name(half: 1)] })).forEach {
            sizes[$0.string(0)] = $0.integer(1)
            files[$0.string(0)] = $0.integer(2)
            halves = $0.integer(3)
        }
        for table in HotTable.allCases {
            let current = Int(halves >> Int64(table.bit) & 1)
            let other = table.name(half: 1 - current)
            guard let size = sizes[table.name(half: current)], let otherSize = sizes[other], let file = files[other]
            else { continue }
            let limit = Int64(options.rotationBytes)
            var rotation = rotations[table] ?? Rotation(current: current, file: file, limit: limit)
            rotation.see(current: current, file: file, limit: limit)
            if otherSize > Self.emptyBytes {
                try advance(table, &rotation)
            } else if size >= rotation.limit {
                try considerSwitch(table, &rotation, size: size)
            }
            rotations[table] = rotation
        }
    }

    /// Adds a range of history when fewer numbers are left than a range has (N1), and publishes it (N7).
    private func addRanges() throws(PostgresError) {
        guard let row = try run(Statements.numbersLeft).first else { return }
        let timeout = "SET LOCAL lock_timeout = '100ms'"
        do throws(PostgresError) {
            if row.integer(0) < Int64(options.rangeJobs) {
                let add = "halyard.add_ranges(last_value + \(options.rangeJobs), \(options.rangeJobs))"
                try link.connection().run("\(timeout); SELECT \(add) FROM halyard.job_number")
                try link.connection().run("\(timeout); SELECT halyard.publish_ranges()")
            }
        } catch {
            // Losing this error is harmless: the next look tries again, and an enqueue that needs a range adds it (N2).
            guard error.sqlState == SQLState.lockTimeout || error.isConflict else { throw error }
        }
    }

    /// Makes the other half the current one, if the current one consists mostly of deleted rows.
    private func considerSwitch(_ table: HotTable, _ rotation: inout Rotation, size: Int64) throws(PostgresError) {
        let enough = size / Self.bytesPerRow + 1
        let rows = try run(Statements.count[table]![rotation.current], .integer(enough)).first?.integer(0) ?? 0
        if rows < enough {
            try link.connection().run(Statements.switches[table]![rotation.current])
        } else {
            // Counting again soon would find as many.
            rotation.limit = size + size / 2
        }
    }

    /// Takes the next step towards the emptying of the other half.
    private func advance(_ table: HotTable, _ rotation: inout Rotation) throws(PostgresError) {
        let now = ContinuousClock.now
        let half = rotation.other
        switch rotation.phase {
        case .unknown:
            let open = try transactions(Statements.adding)
            rotation.phase = .closing(open)
            if open.isEmpty { try advance(table, &rotation) }
        case .closing(let before):
            let left = before.intersection(try transactions(Statements.adding))
            rotation.phase = left.isEmpty ? .draining(since: now, movedFrom: .max) : .closing(left)
            if left.isEmpty { try advance(table, &rotation) }
        case .draining(let since, let movedFrom):
            guard try run(Statements.exists[table]![half]).count > 0 else {
                rotation.phase = .empty(since: now, users: nil)
                return try advance(table, &rotation)
            }
            if table == .tally {
                for subject in try run(Statements.subjects[half]).map({ $0.integer(0) }) {
                    try run(Statements.fold, .integer(subject))
                }
            } else if now - since >= options.rotationPause * 4 {
                let last = try move(table, from: half, below: movedFrom)
                rotation.phase = .draining(since: since, movedFrom: last)
            }
        case .empty(let since, let before):
            guard now - since >= options.rotationGrace else { return }
            let users = try transactions(Statements.users[table]![half])
            rotation.phase = .empty(since: since, users: users)
            guard let before, before.isDisjoint(with: users) else { return }
            do throws(PostgresError) {
                try link.connection().run(Statements.empty[table]![half])
            } catch {
                // The next look tries again.
                guard error.sqlState == SQLState.lockTimeout || error.isConflict else { throw error }
            }
        }
    }

    /// Moves rows to the current half, the newest jobs first, since claims take the oldest ones.
    ///
    /// - Returns: The job below which the next move begins.
    private func move(_ table: HotTable, from half: Int, below: Int64) throws(PostgresError) -> Int64 {
        var below = below
        for _ in 0..<Self.movesPerLook {
            do throws(PostgresError) {
                let row = try run(Statements.move[table]![half], .integer(below), .integer(Self.rowsPerMove)).first
                // The next look begins again with rows that were locked.
                guard let row, !row.isNull(0) else { return .max }
                below = row.integer(0)
            } catch {
                guard error.isConflict else { throw error }
                return below
            }
        }
        return below
    }

    private func transactions(_ statement: Statement) throws(PostgresError) -> Set<String> {
        Set(try run(statement).map { $0.string(0) })
    }

    @discardableResult
    private func run(_ statement: Statement, _ arguments: Argument...) throws(PostgresError) -> Rows {
        try link.connection().run(statement, arguments)
    }

    func disconnect() { link.close() }

    private enum Statements {
        static let sizes = Statement(
            """
            SELECT relname::text, pg_total_relation_size(oid), pg_relation_filenode(oid)::bigint,
                   (SELECT last_value FROM halyard.halves)
            FROM   pg_class
            WHERE  relnamespace = 'halyard'::regnamespace
            AND    relname = ANY ($1::text[])
            """)
        static let numbersLeft = Statement(
            """
            SELECT (SELECT max(below) FROM halyard.range WHERE is_published) - (SELECT last_value FROM halyard.job_number)
            """)
        /// The transactions that may have chosen a half.
        static let adding = Statement(
            """
            SELECT virtualtransaction
            FROM   pg_locks
            WHERE  locktype = 'advisory'
            AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND    (classid::bigint << 32) + objid::bigint = \(AdvisoryLock.adding)
            AND    objsubid = 1
            AND    granted
            AND    pid <> pg_backend_pid()
            """)
        static let subjects = [0, 1].map { half in
            Statement("SELECT DISTINCT subject FROM halyard.\(HotTable.tally.name(half: half)) ORDER BY subject")
        }
        static let fold = Statement("SELECT halyard.fold_tally($1::bigint)")

        static let count = each { _, name, _ in
            Statement("SELECT count(*) FROM (SELECT 1 FROM halyard.\(name) LIMIT $1::bigint) AS row")
        }
        static let exists = each { _, name, _ in Statement("SELECT 1 FROM halyard.\(name) LIMIT 1") }
        static let users = each { _, name, _ in
            Statement(
                """
                SELECT DISTINCT virtualtransaction
                FROM   pg_locks
                WHERE  relation = 'halyard.\(name)'::regclass
                AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND    granted
                AND    pid <> pg_backend_pid()
                """)
        }
        static let move = each { table, name, half in
            Statement(
                """
                WITH found AS MATERIALIZED (
                    SELECT   job AS number
                    FROM     halyard.\(name)
                    WHERE    job < $1::bigint
                    ORDER BY job DESC
                    LIMIT    $2::bigint
                    FOR UPDATE SKIP LOCKED
                ), moved AS (
                    UPDATE halyard.\(table.parent)
                    SET    half = \(1 - half)
                    FROM   found
                    WHERE  job = found.number
                    AND    half = \(half)
                )
                SELECT min(number) FROM found
                """)
        }
        /// One at a time: the halves of all tables are one number. Safe to repeat.
        static let switches = each { table, name, half in
            """
            DO $$
            BEGIN
                IF NOT pg_try_advisory_xact_lock(\(AdvisoryLock.rotation)) THEN RETURN; END IF;
                PERFORM setval('halyard.halves', last_value # \(1 << table.bit))
                FROM    halyard.halves
                WHERE   last_value >> \(table.bit) & 1 = \(half)
                AND     pg_total_relation_size('halyard.\(table.name(half: 1 - half))') <= \(emptyBytes);
            END $$
            """
        }
        /// One message, so that a daemon that is frozen or cut off never keeps the lock.
        static let empty = each { table, name, half in
            """
            SET LOCAL lock_timeout = '100ms';
            DO $$
            BEGIN
                IF NOT pg_try_advisory_xact_lock(\(AdvisoryLock.rotation)) THEN RETURN; END IF;
                LOCK TABLE halyard.\(name) IN ACCESS EXCLUSIVE MODE;
                IF halyard.half(\(table.bit)) = \(half) THEN RETURN; END IF;
                IF EXISTS (SELECT 1 FROM halyard.\(name)) THEN RETURN; END IF;
                TRUNCATE halyard.\(name);
            END $$
            """
        }

        /// One value for each half of each table.
        private static func each<Value>(_ value: (HotTable, String, Int) -> Value) -> [HotTable: [Value]] {
            Dictionary(
                uniqueKeysWithValues: HotTable.allCases.map { table in
                    (table, table.halves { name, half in value(table, name, half) })
                })
        }
    }
}

/// Carries out looks. One that fails is not repeated: the next one begins where it ended.
final class RotationLoop: RequestHandler {
    private let rotor: Rotor

    init(_ rotor: Rotor) { self.rotor = rotor }

    func carryOut(_ batch: [any Request<Rotor>]) {
        for request in batch {
            do throws(PostgresError) {
                try request.run(with: rotor)
                request.answer(nil)
            } catch {
                if error.isStale || error.isReadOnly { rotor.disconnect() }
                request.answer(StoreError(error, server: "", phase: .running))
            }
        }
    }

    func finish() {}
    var moreWork: MoreWork { .none }
}
