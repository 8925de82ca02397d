import Jobs
import PostgreSQL

/// The class of a lane. A job changes its lane when its class changes.
enum LaneClass: Int64 {
    /// Ready since it was accepted or unblocked.
    case fresh = 0
    /// Ready since its time came. Such jobs have their own lanes, since an older time may come into a later transaction.
    case due = 1
    /// Returned to its earlier place after an interruption, or tried again at once.
    case returned = 2
    /// May have crashed a process (``ClaimedJob/isSuspect``); returned to its earlier place.
    case suspect = 3

    /// Whether the order of the lane's jobs does not follow the order of transactions (S2).
    var returnsToPlaces: Bool { self == .returned || self == .suspect }
}

/// The ready jobs of one queue, priority, kind, class and home.
struct Lane: Hashable {
    var queue: Int64
    var priority: Priority
    var kind: String
    var laneClass: LaneClass
    /// The identity of the only daemon that can run the jobs, since it has their files; nil if every daemon can.
    var home: String?

    func isOpen(to identity: String) -> Bool { home == nil || home == identity }
}

/// The queues, definitions and lanes of the database. It is read again when the settings have changed.
struct Catalog {
    struct Queue {
        var settings: QueueSettings
        var pausedAt: Timestamp?
        var isRemoved: Bool
    }

    var version: Int64
    var queues: [Int64: Queue] = [:]
    /// The numbers of the queues that were not removed, by name.
    var queueByName: [String: Int64] = [:]
    /// The kind of each revision of a definition.
    var kinds: [DefinitionID: String] = [:]
    private(set) var lanes: [Int64: Lane] = [:]
    private(set) var laneNumbers: [Lane: Int64] = [:]

    mutating func add(_ lane: Lane, number: Int64) {
        lanes[number] = lane
        laneNumbers[lane] = number
    }
}

extension Writer {
    /// The catalog of the running transaction.
    var known: Catalog {
        guard let catalog else { preconditionFailure("a transaction begins with reading the catalog") }
        return catalog
    }

    /// Reads the queues and definitions, if they have changed since they were read.
    func readCatalog(version: Int64) throws(PostgresError) {
        if catalog?.version == version { return }
        var new = Catalog(version: version)
        try run(Statements.queues).forEach { row in
            let id = row.integer(0)
            let settings = row.queueSettings(from: 1)
            new.queues[id] = Catalog.Queue(
                settings: settings, pausedAt: row.optionalTimestamp(5), isRemoved: !row.isNull(6))
            if row.isNull(6) { new.queueByName[settings.name] = id }
        }
        // Revisions never change and are never deleted.
        new.kinds = catalog?.kinds ?? [:]
        let last = new.kinds.keys.map(\.rawValue).max() ?? 0
        try run(Statements.definitions, .integer(last)).forEach { row in
            new.kinds[DefinitionID(row.integer(0))] = row.string(1)
        }
        catalog = new
        try readLanes()
    }

    /// Reads all lanes.
    func readLanes() throws(PostgresError) {
        try run(Statements.lanes).forEach { row in
            guard let priority = Priority(rawValue: row.int(2)), let laneClass = LaneClass(rawValue: row.integer(4))
            else { return }
            catalog?.add(
                Lane(
                    queue: row.integer(1), priority: priority, kind: row.string(3), laneClass: laneClass,
                    home: row.optionalString(5)),
                number: row.integer(0))
        }
    }

    /// The lane with this number, which other daemons may just have created.
    func lane(_ number: Int64) throws(PostgresError) -> Lane {
        if let lane = known.lanes[number] { return lane }
        try readLanes()
        guard let lane = known.lanes[number] else {
            throw PostgresError(.unexpected, message: "a row refers to lane \(number), which does not exist")
        }
        return lane
    }

    /// The number of a lane. Creates the lane if it is new.
    func number(of lane: Lane) throws(PostgresError) -> Int64 {
        if let number = known.laneNumbers[lane] { return number }
        let arguments: [Argument] = [
            .integer(lane.queue), .integer(lane.priority.rawValue), .text(lane.kind), .integer(lane.laneClass.rawValue),
            .text(lane.home),
        ]
        let made = try connection.run(Statements.makeLane, arguments)
        // Another daemon has just created it.
        let rows = made.count > 0 ? made : try connection.run(Statements.findLane, arguments)
        guard let number = rows.first?.integer(0) else {
            throw PostgresError(.unexpected, message: "a lane was neither created nor found")
        }
        catalog?.add(lane, number: number)
        return number
    }

    /// The number of the lane for jobs of the same queue, priority, kind and home, but of another class.
    func number(of lane: Lane, _ laneClass: LaneClass) throws(PostgresError) -> Int64 {
        var other = lane
        other.laneClass = laneClass
        return try number(of: other)
    }

    private enum Statements {
        static let queues = Statement(
            """
            SELECT   id, name, "limit", limit_per_daemon, weight, paused_ms, removed_ms
            FROM     halyard.queue
            ORDER BY id
            """)
        static let definitions = Statement("SELECT id, kind FROM halyard.definition WHERE id > $1::bigint")
        static let lanes = Statement("SELECT id, queue, priority, kind, class, home FROM halyard.lane")
        static let makeLane = Statement(
            """
            INSERT INTO halyard.lane (queue, priority, kind, class, home)
            VALUES ($1::bigint, $2::bigint, $3::text, $4::bigint, $5::text)
            ON CONFLICT DO NOTHING
            RETURNING id
            """)
        static let findLane = Statement(
            """
            SELECT id
            FROM   halyard.lane
            WHERE  queue = $1::bigint
            AND    priority = $2::bigint
            AND    kind = $3::text
            AND    class = $4::bigint
            AND    home IS NOT DISTINCT FROM $5::text
            """)
    }
}
