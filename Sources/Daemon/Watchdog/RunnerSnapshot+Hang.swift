import Runner

extension RunnerSnapshot {
    /// Why nothing gets on, where nothing does; nil when the runner has ended.
    var whatHangs: String? {
        if phase == .ended { return nil }
        if abandoned >= slots { return "every slot is held by a job that does not stop; a new start runs the others" }
        return awaitsStore
            ? "the database does not answer; a new start recovers"
            : "the claim loop does not turn; a new start recovers"
    }
}
