import Jobs

/// The verbs for schedules.
public protocol ScheduleVerbs: Sendable {
    /// Returns all schedules, ordered by name.
    ///
    /// - Throws: ``ControlProblem``.
    func schedules() async throws(ControlProblem) -> [ScheduleRecord]
    /// Returns a schedule with its next time and its last job or graph.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such schedule.
    func schedule(_ name: String) async throws(ControlProblem) -> ScheduleRecord
    /// Pauses or resumes a schedule, and returns it. Times that pass while it is paused are skipped and not
    /// made up for. Repeating the call is safe.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such schedule.
    func setPaused(_ isPaused: Bool, schedule name: String) async throws(ControlProblem) -> ScheduleRecord
    /// Enqueues the schedule's work now, even if the schedule is paused or its last job still runs. Its times
    /// do not change.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is no such schedule, `invalidDefinitions` if its work
    ///   can no longer be planned. After `unknownOutcome`, repeating the call may enqueue the work twice.
    func run(schedule name: String) async throws(ControlProblem) -> EnqueueReceipt
    /// Removes a schedule. The jobs that it has enqueued continue.
    ///
    /// - Throws: ``ControlProblem``, `notFound` if there is no such schedule.
    func removeSchedule(_ name: String) async throws(ControlProblem)
}

extension CallingControl {
    public func schedules() async throws(ControlProblem) -> [ScheduleRecord] {
        try await value(of: Call(.get, "schedules"))
    }

    public func schedule(_ name: String) async throws(ControlProblem) -> ScheduleRecord {
        try await value(of: Call(.get, "schedules", name))
    }

    public func setPaused(_ isPaused: Bool, schedule name: String) async throws(ControlProblem) -> ScheduleRecord {
        try await value(of: Call(.patch, "schedules", name).with(ScheduleChange(isPaused: isPaused).json))
    }

    public func run(schedule name: String) async throws(ControlProblem) -> EnqueueReceipt {
        var call = Call(.post, "schedules", name, "run")
        call.isRepeatable = false
        return try await value(of: call)
    }

    public func removeSchedule(_ name: String) async throws(ControlProblem) {
        _ = try await send(Call(.delete, "schedules", name))
    }
}

extension Route {
    static func schedules(_ control: any JobControl) -> [Route] {
        [
            Route(.get, "schedules") { _ in .large { try await control.schedules().json } },
            Route(.get, "schedules/{name}") { .value(try await control.schedule($0.name).json) },
            Route(.patch, "schedules/{name}") { request in
                let change: ScheduleChange = try await request.value()
                return .value(try await control.setPaused(change.isPaused, schedule: request.name).json)
            },
            Route(.post, "schedules/{name}/run") { .value(try await control.run(schedule: $0.name).json, status: 201) },
            Route(.delete, "schedules/{name}") { request in
                try await control.removeSchedule(request.name)
                return .done
            },
        ]
    }
}
