import Runner

extension RunnerSnapshot {
    /// The reason to report when no job makes progress; nil if the runner has ended.
    var whatHangs: String? {
        if phase == .ended { return nil }
        if abandoned >= slots { return "every slot is held by a job that does not stop; a restart runs the other jobs" }
        return awaitsStore
            ? "the database does not respond; a restart recovers"
            : "the claim loop makes no progress; a restart recovers"
    }
}
