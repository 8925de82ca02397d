import Jobs

extension WorkerRecord: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            name: fields("name", \.name), version: fields("version", \.version), kinds: fields("kinds", \.kinds),
            processLimit: fields("process_limit", \.processLimit),
            attemptLimit: fields("attempt_limit", \.attemptLimit), processes: fields("processes", \.processes),
            waiting: fields("waiting", \.waiting), crashes: fields("crashes", \.crashes),
            restsUntil: fields("rests_until", \.restsUntil), problem: fields("problem", \.problem),
            isRemoved: fields.optional("removed") { $0.isRemoved ? true : nil } ?? false,
            checkedUntil: fields("checked_until", \.checkedUntil))
    }
}

extension WorkerRecord.Process: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            pid: fields("pid", \.pid), state: fields("state", \.state), startedAt: fields("started_at", \.startedAt),
            attempts: fields("attempts", \.attempts), isProbe: fields("probe", \.isProbe))
    }
}

extension WorkerRecord.Process.State: NamedWireValue { static var concept: String { "state" } }
