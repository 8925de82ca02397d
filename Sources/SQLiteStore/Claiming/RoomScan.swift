import Jobs
import SQLite

/// Selects the jobs of a claim one by one, and skips those without room.
///
/// Every slot goes to one of the queues that have a job with room at that moment, so a queue without one takes no share
/// from the others, and queues share the room of a kind by weight too.
struct RoomScan {
    /// The ready jobs of one queue.
    private struct Lane {
        let queue: Int
        /// The number of jobs that the queue may still start.
        var left: Int
        var levels: [Level]
        /// The level of the next job to start; nil if there is none.
        var next: Int?
        /// Whether the claim has skipped so many jobs that it cannot find this queue's next job.
        var isUnknown = false
    }

    /// The ready jobs of one queue and priority.
    private struct Level {
        var passed: PassedJobs
        /// The place up to which this claim has looked, apart from `head`.
        var place = ReadyKey.first
        var head: (job: ReadyJob, room: RoomClass)?
        var isOver = false

        /// Skips the head, or takes it.
        mutating func passHead(isSkipped: Bool, _ room: ClaimRoom) {
            guard let head else { return }
            place = head.job.place
            passed.pass(place, skipped: isSkipped ? head.room : nil, room)
            self.head = nil
        }
    }

    private let writer: Writer
    private let demands: [FairShare.Demand]
    private let ageing: Duration
    private var room: ClaimRoom
    private var lanes: [Lane]
    /// The lane whose head, or whose last row, each cursor is at.
    private var cursorLanes: [Int?]
    /// The number of jobs that this claim may still skip.
    private var skips: Int

    init(_ writer: Writer, _ demands: [FairShare.Demand], _ room: ClaimRoom, ageing: Duration) {
        self.writer = writer
        self.demands = demands
        self.room = room
        self.ageing = ageing
        skips = writer.maxSkips
        let levels = writer.claiming.ready.count
        lanes = demands.map { demand in
            let passed = writer.memory.queues[demand.key].passed ?? Array(repeating: PassedJobs(), count: levels)
            return Lane(queue: demand.key, left: demand.wanted, levels: passed.map { Level(passed: $0) })
        }
        cursorLanes = Array(repeating: nil, count: levels)
    }

    /// Selects up to `slots` jobs, each with its queue, and remembers which jobs were skipped.
    mutating func select(_ slots: Int, shares: inout FairShare) throws(SQLiteError) -> [(job: ReadyJob, queue: Int)] {
        var selected: [(job: ReadyJob, queue: Int)] = []
        while selected.count < slots {
            for lane in lanes.indices { try findNext(in: lane) }
            guard let lane = shares.giveSlot(among: demands, where: { lanes[$0].next != nil }),
                let level = lanes[lane].next, let head = lanes[lane].levels[level].head
            else { break }
            selected.append((head.job, lanes[lane].queue))
            lanes[lane].left -= 1
            lanes[lane].next = nil
            lanes[lane].levels[level].passHead(isSkipped: false, room)
            room.take(head.room)
        }
        for cursor in writer.claiming.ready { cursor.reset() }
        for lane in lanes { writer.memory.queues[lane.queue].passed = lane.levels.map(\.passed) }
        if lanes.contains(where: \.isUnknown) { writer.claimsAgain = true }
        return selected
    }

    /// Finds the job of a queue that starts next, if any.
    private mutating func findNext(in lane: Int) throws(SQLiteError) {
        if let level = lanes[lane].next, let head = lanes[lane].levels[level].head, room.admits(head.room) { return }
        lanes[lane].next = nil
        if lanes[lane].left <= 0 || lanes[lane].isUnknown { return }
        for level in lanes[lane].levels.indices {
            // A job at another level may start only if it is certain that none here goes first.
            guard try findHead(in: lane, level) else {
                lanes[lane].isUnknown = true
                return
            }
        }
        lanes[lane].next = writer.levelOfNext(lanes[lane].levels.map(\.head?.job), ageing: ageing)
        if lanes[lane].next == nil { lanes[lane].left = 0 }
    }

    /// Moves to the first job with room at one level.
    ///
    /// - Returns: False if the claim may skip no further jobs.
    private mutating func findHead(in lane: Int, _ level: Int) throws(SQLiteError) -> Bool {
        while !lanes[lane].levels[level].isOver {
            if let head = lanes[lane].levels[level].head {
                // The room may have been taken since the job was found.
                if room.admits(head.room) { return true }
                skips -= 1
                lanes[lane].levels[level].passHead(isSkipped: true, room)
            }
            let place = lanes[lane].levels[level].place
            guard let start = lanes[lane].levels[level].passed.start(from: place, room) else {
                lanes[lane].levels[level].isOver = true
                break
            }
            if skips <= 0 { return false }
            let cursor = writer.claiming.ready[level]
            let found =
                if cursorLanes[level] == lane, start == place {
                    try cursor.nextBehind()
                } else {
                    try cursor.first(queue: writer.memory.queues[lanes[lane].queue].id, behind: start)
                }
            cursorLanes[level] = lane
            lanes[lane].levels[level].place = start
            if let found {
                lanes[lane].levels[level].head = (found, try writer.roomClass(of: found))
            } else {
                lanes[lane].levels[level].passed.reachEnd(room)
                lanes[lane].levels[level].isOver = true
            }
        }
        return true
    }
}

extension Writer {
    func roomClass(of job: ReadyJob) throws(SQLiteError) -> RoomClass {
        let kind = memory.kind(of: job.definition)
        return try isSuspect(job) ? .suspect(kind) : .kind(kind)
    }

    /// Records that a job became ready, if claims have skipped jobs of its queue.
    func noteReady(_ job: JobID, queue: Int) throws(SQLiteError) {
        guard memory.queues[queue].passed != nil else { return }
        let found = try claiming.readyJob.first([.job <- job]) { (job: ReadyJob($0), priority: Int($0.integer(8))) }
        guard let found, let priority = Priority(rawValue: found.priority) else { return }
        noteReady(try roomClass(of: found.job), at: found.job.place, queue: queue, priority)
    }

    /// Records that a job became ready, if claims have skipped jobs of its queue.
    func noteReady(_ job: RoomClass, at place: ReadyKey, queue: Int, _ priority: Priority) {
        guard memory.queues[queue].passed != nil,
            let level = claiming.ready.firstIndex(where: { $0.priority == priority })
        else { return }
        memory.queues[queue].passed?[level].add(job, at: place)
    }
}
