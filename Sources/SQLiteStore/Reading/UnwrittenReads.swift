import Jobs
import SQLite

extension Reader {
    /// Returns the next part, which is small, as one page. A damaged part yields no jobs; the writer reports the
    /// damage.
    func unwritten(from position: UnwrittenPage.Position?) throws(SQLiteError) -> UnwrittenPage {
        unwrittenParts.next.bind(1, position?.request ?? 0)
        unwrittenParts.next.bind(2, position?.part ?? -1)
        guard try unwrittenParts.next.step() else { return UnwrittenPage(jobs: [], next: nil) }
        defer { unwrittenParts.next.reset() }
        let first = unwrittenParts.next.integer(2)
        let part = StagedPart(unwrittenParts.next.bytes(3) ?? [])
        guard (1...Memory.maxNumber).contains(first) else {
            throw .damaged("a part begins at the invalid job number \(first)")
        }
        let jobs = (part?.entries ?? []).compactMap { entry in
            entry.job?.input.map { UnwrittenJob(job: JobID(first + Int64(entry.index)), input: $0) }
        }
        return UnwrittenPage(
            jobs: jobs,
            next: UnwrittenPage.Position(request: unwrittenParts.next.integer(0), part: unwrittenParts.next.integer(1)))
    }
}

struct UnwrittenStatements: ~Copyable {
    /// Parts of requests that were not accepted are skipped.
    static let nextSQL: SQL = """
        SELECT   graph_id, number, first_job_id, body
        FROM     staged_part AS part
        WHERE    (graph_id, number) > (?1, ?2)
        AND      (EXISTS (SELECT 1 FROM graph WHERE id = part.graph_id)
                  OR EXISTS (SELECT 1 FROM staged_part AS acceptance WHERE acceptance.graph_id = -part.graph_id))
        ORDER BY graph_id, number
        LIMIT    1
        """

    let next: Statement

    init(_ connection: Connection) { next = connection.prepare(Self.nextSQL) }
}
