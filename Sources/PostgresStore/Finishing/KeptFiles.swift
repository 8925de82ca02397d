import Jobs
import PostgreSQL

/// Results that are files, each on the host of the daemon that ran the job. A dependent that may read such a file runs on
/// that daemon.
extension Writer {
    func recordKept(_ jobs: [FinalJob]) throws(PostgresError) {
        if jobs.isEmpty { return }
        try putOff(Statements.record, .jobs(jobs.map(\.job)), .texts(jobs.map(\.home)))
    }

    /// Reads which of these final jobs have a file as their result, and which daemons keep the files.
    func homes(ofFilesOf jobs: [JobID]) throws(PostgresError) -> [JobID: String] {
        if jobs.isEmpty { return [:] }
        var homes: [JobID: String] = [:]
        try run(Statements.homes, .jobs(jobs)).forEach { homes[$0.job(0)] = $0.string(1) }
        return homes
    }

    /// Whether jobs of a kind may read the files of their dependencies. Kinds that accept no outputs do not.
    func readsFiles(_ kind: String) throws(PostgresError) -> Bool {
        try run(Statements.readsFiles, .text(kind)).first?.boolean(0) ?? true
    }

    private enum Statements {
        static let record = Statement(
            """
            INSERT INTO halyard.kept (job, home)
            SELECT * FROM unnest($1::bigint[], $2::text[])
            """)
        static let homes = Statement("SELECT job, home FROM halyard.kept WHERE job = ANY ($1::bigint[])")
        static let readsFiles = Statement(
            "SELECT coalesce(bool_or(accepts IS NOT NULL), true) FROM halyard.kind WHERE name = $1::text")
    }
}

extension JSONText {
    /// Whether a job's output describes a ``KeptFile``.
    var isKeptFile: Bool {
        // Most outputs are something else, and this comparison avoids parsing them. Another shape is not an error.
        bytes.starts(with: Self.beginningOfKeptFile) && (try? KeptFile(json: self)) != nil
    }

    private static let beginningOfKeptFile = Array("{\"file\":".utf8)
}
