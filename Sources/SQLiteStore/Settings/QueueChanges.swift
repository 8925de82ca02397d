import Jobs
import SQLite
import StoreParts

extension Writer {
    func change(_ change: QueueChange, now: Timestamp) throws(SQLiteError) -> QueueRecord {
        let index =
            if let known = memory.queueByName[change.name] { known } else { try makeQueue(named: change.name) }
        var queue = memory.queues[index]
        queue.settings.apply(change)
        if let isPaused = change.isPaused {
            // A queue that is already paused keeps the time of its first pause.
            queue.pausedAt = isPaused ? queue.pausedAt ?? now : nil
        }
        let old = memory.queues[index]
        if queue.settings != old.settings || queue.pausedAt != old.pausedAt {
            try settings.updateQueue.run([
                .queue <- queue.id, .limit <- queue.settings.limit, .perDaemon <- queue.settings.limitPerDaemon,
                .weight <- queue.settings.weight, .paused <- queue.pausedAt,
            ])
            memory.queues[index] = queue
            queuesChanged = true
        }
        return queue.record
    }

    /// Creates the queues that child jobs name, up to the limit of queues. The code of an operation, or an earlier
    /// plan, may name a queue that was removed or never existed. Its success must not be lost because of that.
    func makeQueues(of children: [NewGraph]) throws(SQLiteError) {
        for child in children { try makeQueues(named: child.jobs.lazy.map(\.queue)) }
    }

    func makeQueues(named names: some Sequence<String>) throws(SQLiteError) {
        for name in names
        where memory.queueByName[name] == nil && memory.liveQueues.count < QueueSettings.maxCount {
            _ = try makeQueue(named: name)
        }
    }

    /// Creates a queue with default settings. Reuses the row of a removed queue with this name, whose final jobs stay
    /// with it, or else the row of any removed queue without jobs.
    private func makeQueue(named name: String) throws(SQLiteError) -> Int {
        let removed =
            memory.queues.firstIndex { $0.isRemoved && $0.settings.name == name }
            ?? memory.queues.firstIndex { $0.isRemoved && $0.tally.isZero }
        guard let index = removed else { return try insertQueue(named: name) }
        let new = QueueSettings(name: name)
        try settings.reviveQueue.run([
            .queue <- memory.queues[index].id, .name <- name, .limit <- new.limit, .weight <- new.weight,
        ])
        memory.queues[index].settings = new
        memory.queues[index].pausedAt = nil
        memory.admit(queue: index)
        shares.forget(index)
        queuesChanged = true
        return index
    }

    func removeQueue(_ name: String, now: Timestamp) throws(SQLiteError) -> QueueRemoval {
        guard name != QueueSettings.defaultName, let index = memory.queueByName[name] else { return .unknown }
        var users = QueueUsers(openJobs: memory.queues[index].tally.open)
        for (type, user) in try settings.queueUsers.all([.name <- name], { ($0.string(0), $0.string(1)) }) {
            switch type {
            case "definition": users.definitions.append(user)
            case "graph": users.graphs.append(user)
            default: users.schedules.append(user)
            }
        }
        guard users.isEmpty else { return .used(users) }
        try settings.removeQueue.run([.queue <- memory.queues[index].id, .now <- now])
        memory.dismiss(queue: index)
        queuesChanged = true
        return .removed
    }

    private func insertQueue(named name: String) throws(SQLiteError) -> Int {
        let index = memory.queues.count
        let new = QueueSettings(name: name)
        let id = Int64(index + 1)
        try settings.insertQueue.run([
            .queue <- id, .name <- name, .limit <- new.limit, .weight <- new.weight,
        ])
        try settings.insertTally.run([.queue <- id])
        memory.queues.append(QueueMemory(id: id, settings: new, pausedAt: nil, tally: Tally()))
        memory.admit(queue: index)
        queuesChanged = true
        return index
    }
}
