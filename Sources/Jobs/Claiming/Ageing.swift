extension Priority {
    /// The priority of a waiting job after ageing: one higher for each full `step` of waiting, at most ``veryHigh``.
    public func aged(readySince: Timestamp, now: Timestamp, step: Duration) -> Priority {
        let waited = (now - readySince).milliseconds
        let stepMilliseconds = max(1, step.milliseconds)
        guard waited >= stepMilliseconds else { return self }
        let lifted = Int64(rawValue) + waited / stepMilliseconds
        return Priority(rawValue: Int(min(lifted, Int64(Priority.veryHigh.rawValue)))) ?? .veryHigh
    }
}
