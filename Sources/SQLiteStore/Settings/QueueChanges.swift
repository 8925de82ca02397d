import Jobs
import SQLite

extension Writer {
    func change(_ change: QueueChange, now: Timestamp) throws(SQLiteError) -> QueueRecord {
        let index =
            if let known = memory.queueByName[change.name] { known } else { try insertQueue(named: change.name) }
        var queue = memory.queues[index]
        queue.settings.limit = change.limit ?? queue.settings.limit
        queue.settings.weight = change.weight ?? queue.settings.weight
        if let isPaused = change.isPaused {
            // A queue that is paused keeps the moment since when.
            queue.pausedAt = isPaused ? queue.pausedAt ?? now : nil
        }
        let old = memory.queues[index]
        if queue.settings != old.settings || queue.pausedAt != old.pausedAt {
            settings.updateQueue.bind(1, queue.id)
            settings.updateQueue.bind(2, queue.settings.limit)
            settings.updateQueue.bind(3, queue.settings.weight)
            settings.updateQueue.bind(4, queue.pausedAt?.milliseconds)
            try settings.updateQueue.run()
            memory.queues[index] = queue
            queuesChanged = true
        }
        return queue.record
    }

    private func insertQueue(named name: String) throws(SQLiteError) -> Int {
        let index = memory.queues.count
        let new = QueueSettings(name: name)
        let id = Int64(index + 1)
        settings.insertQueue.bind(1, id)
        try settings.insertQueue.bind(2, name)
        settings.insertQueue.bind(3, new.limit)
        settings.insertQueue.bind(4, new.weight)
        try settings.insertQueue.run()
        settings.insertTally.bind(1, id)
        try settings.insertTally.run()
        memory.queues.append(QueueMemory(id: id, settings: new, pausedAt: nil, tally: Tally()))
        memory.queueByName[name] = index
        queuesChanged = true
        return index
    }
}
