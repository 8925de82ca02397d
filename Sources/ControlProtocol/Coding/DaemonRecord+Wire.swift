import Jobs

extension DaemonRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            lease: fields("lease", \.lease), name: fields("name", \.name), host: fields("host", \.host),
            version: fields("version", \.version), state: fields("state", \.state), queues: fields("queues", \.queues),
            kinds: fields("kinds", \.kinds), running: fields("running", \.running),
            startedAt: fields("started_at", \.startedAt), seenAt: fields("seen_at", \.seenAt),
            aliveUntil: fields("alive_until", \.aliveUntil), endedAt: fields("ended_at", \.endedAt),
            drainedAt: fields("drained_at", \.drainedAt))
    }
}

extension DaemonRecord.State: NamedWireValue { static var concept: String { "state" } }
