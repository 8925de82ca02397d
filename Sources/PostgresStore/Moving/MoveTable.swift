import Glibc
import Jobs
import Moving
import PostgreSQL

/// The marks of a move in a database: the table `halyard.move`, which exists only then, and triggers that refuse the rows of
/// daemons, jobs, results and settings, also those of older releases and of other programs.
extension Connection {
    /// The role of a marked database in its move.
    enum MoveRole: String { case moved, unfinished }

    /// Writes the mark, in the running transaction. The database then accepts no daemon, and no new jobs if its jobs
    /// were moved away.
    func writeMark(_ mark: MoveMark, _ role: MoveRole) throws(PostgresError) {
        let words =
            switch role {
            case .moved: "The jobs of this database were moved to \(mark.place) at \(mark.at.iso8601)."
            case .unfinished: "A move of jobs from \(mark.place) to this database has not ended."
            }
        try run(
            """
            DROP TABLE IF EXISTS halyard.move;
            CREATE TABLE halyard.move (
                role        text NOT NULL,
                move        text NOT NULL,
                key         text NOT NULL,
                place       text NOT NULL,
                at_ms       bigint NOT NULL,
                is_verified boolean NOT NULL
            );
            REVOKE ALL ON halyard.move FROM PUBLIC;
            CREATE OR REPLACE FUNCTION halyard.refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $halyard$
            BEGIN
                RAISE EXCEPTION \(literal("%")), \(literal(words)) USING ERRCODE = \(literal(SQLState.moved));
            END $halyard$;
            REVOKE ALL ON FUNCTION halyard.refuse_moved() FROM PUBLIC;
            CREATE OR REPLACE TRIGGER refuse_moved BEFORE INSERT ON halyard.daemon
            FOR EACH STATEMENT EXECUTE FUNCTION halyard.refuse_moved();
            """)
        if role == .moved {
            for table in ["job", "done", "queue", "definition", "graph_definition", "schedule"] {
                try run(
                    """
                    CREATE OR REPLACE TRIGGER refuse_moved BEFORE INSERT ON halyard.\(table)
                    FOR EACH STATEMENT EXECUTE FUNCTION halyard.refuse_moved()
                    """)
            }
        }
        try run(
            MoveStatements.insert,
            [
                .text(role.rawValue), .text(mark.id), .text(mark.key), .text(mark.place),
                .integer(mark.at.milliseconds), .boolean(mark.isVerified),
            ])
    }

    /// Removes the mark, in the running transaction.
    func removeMark() throws(PostgresError) {
        try run("DROP TABLE halyard.move; DROP FUNCTION halyard.refuse_moved() CASCADE")
    }

    /// Reads the mark; nil if there is none.
    func mark() throws(PostgresError) -> (role: MoveRole, mark: MoveMark)? {
        guard try run("SELECT to_regclass('halyard.move') IS NOT NULL")[0].string(0) == "t" else { return nil }
        let row = try run("SELECT role, move, key, place, at_ms, is_verified FROM halyard.move").first
        guard let row, let role = MoveRole(rawValue: row.string(0)) else {
            throw PostgresError(.unexpected, message: "the table halyard.move is empty")
        }
        return (
            role,
            MoveMark(
                id: row.string(1), key: row.string(2), place: row.string(3),
                at: Timestamp(milliseconds: Int64(row.string(4)) ?? 0), isVerified: row.string(5) == "t")
        )
    }

    /// Refuses a database that a move has marked or is using.
    func refuseMoved() throws(PostgresOpenError) {
        var found: (mark: (role: MoveRole, mark: MoveMark)?, isFree: Bool)
        var looks = 0
        repeat {
            // The server may not have noticed yet that the command has ended.
            if looks > 0 { usleep(100_000) }
            looks += 1
            found = try mappingErrors { () throws(PostgresError) in
                // The lock is released with this statement's transaction.
                let isFree = try run("SELECT pg_try_advisory_xact_lock_shared(\(AdvisoryLock.moving))")[0]
                return (mark: try mark(), isFree: isFree.string(0) == "t")
            }
        } while found.mark == nil && !found.isFree && looks < 10
        switch found.mark {
        case (.moved, let mark)?: throw .moved(server: server, place: mark.place, at: mark.at)
        case (.unfinished, let mark)?:
            throw .unfinishedMove(server: server, place: mark.place, isComplete: mark.isVerified)
        case nil: if !found.isFree { throw .beingMoved(server: server) }
        }
    }

    /// Reserves the database for a move, until ``releaseAfterMove()`` or the end of the connection.
    func reserveForMove() throws {
        for isFirst in [true] + Array(repeating: false, count: 20) {
            // The server may not have noticed yet that an earlier command has died.
            if !isFirst { usleep(100_000) }
            if try run("SELECT pg_try_advisory_lock(\(AdvisoryLock.moving))")[0].string(0) == "t" { return }
        }
        throw MoveFailure(.busy, "Another \"halyard move\" uses \(server), or a daemon is just starting. Try again.")
    }

    /// Undoes an open transaction, and lets daemons and other moves use the database again.
    func releaseAfterMove() {
        // Losing the error is harmless: the server does the same when the connection is closed.
        if isOpen { _ = try? run("ROLLBACK; SELECT pg_advisory_unlock_all()") }
    }

    /// Refuses a database that has living daemons.
    func refuseDaemons() throws {
        let lives = try run(
            """
            SELECT   name, host
            FROM     halyard.daemon
            WHERE    \(Writer.lasts("NULL"))
            ORDER BY name, id
            """)
        let names = lives.map { "\($0.string(0)) on \($0.string(1))" }
        if names.isEmpty { return }
        throw MoveFailure(
            .busy,
            "\(names.count == 1 ? "A daemon runs" : "\(names.count) daemons run") jobs of \(server). Stop \(names.count == 1 ? "it" : "them") first (systemctl stop halyard); a crashed daemon counts until its lease ends.",
            details: names)
    }
}

extension SQLState {
    /// The class is "object not in prerequisite state".
    static let moved = "55H01"
}

private enum MoveStatements {
    static let insert = Statement(
        """
        INSERT INTO halyard.move (role, move, key, place, at_ms, is_verified)
        VALUES ($1::text, $2::text, $3::text, $4::text, $5::bigint, $6::boolean)
        """)
}
