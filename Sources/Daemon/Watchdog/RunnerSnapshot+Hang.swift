import Runner

extension RunnerSnapshot {
    /// The reason to report when no job makes progress; nil if the runner has ended.
    var whatHangs: String? {
        if phase == .ended { return nil }
        if abandoned >= slots { return "every slot is held by a job that does not stop; a new start runs the others" }
        return awaitsStore
            ? "the database does not answer; a new start recovers"
            : "the claim loop does not turn; a new start recovers"
    }
}
