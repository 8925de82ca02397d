import Jobs
import SQLite

extension Reader {
    /// Returns the next part, which is small, as one page. A damaged part yields no jobs; the writer reports the
    /// damage.
    func unwritten(from position: UnwrittenPage.Position?) throws(SQLiteError) -> UnwrittenPage {
        let page = try unwrittenParts.next.first([
            .request <- position?.request ?? 0, .number <- position?.part ?? -1,
        ]) { (row) throws(SQLiteError) in
            let first = row.integer(2)
            guard (1...Memory.maxNumber).contains(first) else {
                throw .damaged("a part begins at the invalid job number \(first)")
            }
            let jobs = (StagedPart(row.bytes(3) ?? [])?.entries ?? []).compactMap { entry in
                entry.job?.new.input.map { UnwrittenJob(job: JobID(first + Int64(entry.index)), input: $0) }
            }
            return UnwrittenPage(
                jobs: jobs, next: UnwrittenPage.Position(request: row.integer(0), part: row.integer(1)))
        }
        return page ?? UnwrittenPage(jobs: [], next: nil)
    }
}

struct UnwrittenStatements: StatementGroup {
    /// Parts of requests that were not accepted are skipped.
    let next = Statement(
        """
        SELECT   graph_id, number, first_job_id, body
        FROM     staged_part AS part
        WHERE    (graph_id, number) > (:request, :number)
        AND      (EXISTS (SELECT 1 FROM graph WHERE id = part.graph_id)
                  OR EXISTS (SELECT 1 FROM staged_part AS acceptance WHERE acceptance.graph_id = -part.graph_id))
        ORDER BY graph_id, number
        LIMIT    1
        """)
}
