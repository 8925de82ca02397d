import Jobs
import PostgreSQL
import StoreParts

/// A ready job that a claim may take. Other claims skip it until the transaction ends, if its lane had room.
struct Candidate {
    let job: JobID
    let lane: Lane
    let readySince: Timestamp

    var order: (Timestamp, JobID) { (readySince, job) }
}

extension Writer {
    /// Finds the first ready jobs of lanes, and locks those with room.
    ///
    /// - Parameter lanes: The lanes to look at, each with the number of jobs to find and whether it has room.
    func candidates(_ lanes: [(number: Int64, want: Int, hasRoom: Bool)]) throws(PostgresError) -> [Candidate] {
        if lanes.isEmpty { return [] }
        try readFloors()
        let floors = memory.floors
        let places = lanes.map { floors.floor(of: $0.number) }
        let open = lanes.flatMap { lane in floors.open[lane.number, default: []].map { (lane: lane.number, txid: $0) } }
        let rows = try run(
            Statements.candidates, .integers(lanes.map(\.number)), .integers(places.map(\.txid)),
            .integers(places.map(\.steady)), .integers(places.map(\.job)), .integers(lanes.map { Int64($0.want) }),
            .integers(lanes.map { $0.hasRoom ? 1 : 0 }), .integers(open.map(\.lane)),
            .integers(open.map(\.txid)))
        var found: [Candidate] = []
        var heads: [Int64: Place?] = [:]
        var late: [Int64: Set<Int64>] = [:]
        var snapshot: Snapshot?
        try rows.forEach { (row) throws(PostgresError) in
            switch row.integer(0) {
            case 1:
                found.append(
                    Candidate(job: row.job(4), lane: try lane(row.integer(1)), readySince: row.timestamp(3)))
            case 2:
                let lane = try lane(row.integer(1))
                // Rows return to places before any floor there.
                if lane.laneClass.returnsToPlaces { break }
                heads[row.integer(1)] =
                    row.isNull(2)
                    ? .some(nil) : Place(txid: row.integer(2), steady: row.integer(3), job: row.integer(4))
            case 3: late[row.integer(1), default: []].insert(row.integer(2))
            default: snapshot = Snapshot(row.string(5))
            }
        }
        if let snapshot { memory.floors.advance(heads: heads, late: late, snapshot) }
        return found
    }

    private enum Statements {
        /// The rows are of four sorts: 1 for a candidate, 2 for the head of a lane, 3 for a transaction with rows before
        /// a floor, 4 for the snapshot, to which this transaction belongs too.
        static let candidates = Statement(
            """
            WITH lane AS MATERIALIZED (
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
                              AS lane (id, txid, steady_ms, job, want, room)
            ), head AS MATERIALIZED (
                SELECT    lane.id, lane.want, lane.room, first.txid, first.steady_ms, first.job
                FROM      lane
                LEFT JOIN LATERAL (
                    SELECT   ready.txid, ready.steady_ms, ready.job
                    FROM     halyard.ready
                    WHERE    ready.lane = lane.id
                    AND      (ready.txid, ready.steady_ms, ready.job + 0) >= (lane.txid, lane.steady_ms, lane.job)
                    ORDER BY ready.txid, ready.steady_ms, ready.job + 0
                    LIMIT    1) AS first ON true
            ), late AS MATERIALIZED (
                SELECT     lane.id, found.txid
                FROM       lane
                JOIN       unnest($7::bigint[], $8::bigint[]) AS open (lane, txid) ON open.lane = lane.id
                CROSS JOIN LATERAL (
                    SELECT ready.txid
                    FROM   halyard.ready
                    WHERE  ready.lane = lane.id
                    AND    ready.txid = open.txid
                    AND    (ready.txid, ready.steady_ms, ready.job + 0) < (lane.txid, lane.steady_ms, lane.job)
                    LIMIT  1) AS found
            ), picked AS MATERIALIZED (
                SELECT     head.id, found.*
                FROM       head
                CROSS JOIN LATERAL (
                    SELECT   ready.txid, ready.steady_ms, ready.job
                    FROM     halyard.ready
                    WHERE    ready.lane = head.id
                    AND      (ready.txid, ready.steady_ms, ready.job + 0) >= (head.txid, head.steady_ms, head.job)
                    ORDER BY ready.txid, ready.steady_ms, ready.job + 0
                    LIMIT    head.want
                    FOR UPDATE SKIP LOCKED) AS found
                WHERE      head.room = 1
                AND        head.job IS NOT NULL
            ), passed AS MATERIALIZED (
                SELECT     head.id, found.*
                FROM       head
                CROSS JOIN LATERAL (
                    SELECT   ready.txid, ready.steady_ms, ready.job
                    FROM     halyard.ready
                    WHERE    ready.lane = head.id
                    AND      (ready.txid, ready.steady_ms, ready.job + 0) >= (head.txid, head.steady_ms, head.job)
                    ORDER BY ready.txid, ready.steady_ms, ready.job + 0
                    LIMIT    head.want) AS found
                WHERE      head.room = 0
                AND        head.job IS NOT NULL
            ), picked_late AS MATERIALIZED (
                SELECT     late.id, found.*
                FROM       late
                JOIN       lane ON lane.id = late.id
                CROSS JOIN LATERAL (
                    SELECT   ready.txid, ready.steady_ms, ready.job
                    FROM     halyard.ready
                    WHERE    ready.lane = late.id
                    AND      ready.txid = late.txid
                    AND      (ready.txid, ready.steady_ms, ready.job + 0) < (lane.txid, lane.steady_ms, lane.job)
                    ORDER BY ready.txid, ready.steady_ms, ready.job + 0
                    LIMIT    lane.want
                    FOR UPDATE SKIP LOCKED) AS found
            )
            SELECT 1::bigint, id, txid, steady_ms, job, NULL::text FROM picked
            UNION ALL
            SELECT 1, id, txid, steady_ms, job, NULL FROM passed
            UNION ALL
            SELECT 1, id, txid, steady_ms, job, NULL FROM picked_late
            UNION ALL
            SELECT 2, id, txid, steady_ms, job, NULL FROM head
            UNION ALL
            SELECT 3, id, txid, NULL, NULL, NULL FROM late
            UNION ALL
            SELECT 4, NULL, NULL, NULL, NULL,
                   pg_current_snapshot()::text || ',' || coalesce(pg_current_xact_id_if_assigned()::text, '')
            """)
    }
}
