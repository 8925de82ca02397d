import Jobs

/// The verbs for queues.
public protocol QueueVerbs: Sendable {
    /// Returns all queues with their settings and counts.
    ///
    /// - Throws: ``ControlProblem``.
    func queues() async throws(ControlProblem) -> [QueueRecord]
    /// Changes the settings of a queue. Repeating the call is safe.
    ///
    /// - Parameter create: Whether to create a queue that does not exist. Otherwise the change is refused.
    /// - Returns: The queue after the change.
    /// - Throws: ``ControlProblem``: `unknownQueue` if the queue does not exist and `create` is false,
    ///   `invalidRequest` if a value is out of range.
    func change(_ queue: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord
    /// Removes a queue. Final jobs of the queue stay. A job that an operation's code enqueues creates the queue
    /// again.
    ///
    /// - Throws: ``ControlProblem``: `unknownQueue` if there is no such queue, `inUse` while open jobs,
    ///   definitions, graph definitions or schedules name it.
    func removeQueue(_ name: String) async throws(ControlProblem)
}

extension QueueVerbs {
    /// Changes a queue, and refuses to create one.
    ///
    /// - Throws: ``ControlProblem``, as ``change(_:create:)`` does.
    public func change(_ queue: QueueChange) async throws(ControlProblem) -> QueueRecord {
        try await change(queue, create: false)
    }
}

extension CallingControl {
    public func queues() async throws(ControlProblem) -> [QueueRecord] { try await value(of: Call(.get, "queues")) }

    public func change(_ queue: QueueChange, create: Bool) async throws(ControlProblem) -> QueueRecord {
        try await value(of: Call(.patch, "queues", queue.name).with(QueueRequest(queue, create: create).json))
    }

    public func removeQueue(_ name: String) async throws(ControlProblem) {
        _ = try await send(Call(.delete, "queues", name))
    }
}

extension Route {
    static func queues(_ control: any JobControl) -> [Route] {
        [
            Route(.get, "queues") { _ in .value(try await control.queues().json) },
            Route(.get, "queues/{name}") { request in
                let queues = try await control.queues()
                guard let queue = queues.first(where: { $0.settings.name == request.name }) else {
                    throw ControlProblem(
                        .unknownQueue, "There is no queue \"\(request.name)\". GET /v1/queues lists all queues.")
                }
                return .value(queue.json)
            },
            Route(.patch, "queues/{name}") { request in
                var wanted: QueueRequest = try await request.value()
                guard wanted.change.name.isEmpty || wanted.change.name == request.name else {
                    throw ControlProblem(
                        .invalidRequest, "\"name\" differs from the name in the path. A queue cannot be renamed.")
                }
                wanted.change.name = request.name
                return .value(try await control.change(wanted.change, create: wanted.create).json)
            },
            Route(.delete, "queues/{name}") { request in
                try await control.removeQueue(request.name)
                return .done
            },
        ]
    }
}
