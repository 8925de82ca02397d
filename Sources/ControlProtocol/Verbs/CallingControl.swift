import Jobs

/// A control that carries out verbs by sending calls to a daemon.
///
/// It gets the verbs whose request and response fit in memory from this protocol. It implements the others itself: the
/// verbs that enqueue, and the streams.
public protocol CallingControl: JobControl {
    /// Sends a call.
    ///
    /// - Returns: The body of the response; empty if it has none.
    /// - Throws: The problem that the daemon answered, or the reason why there is no response.
    func send(_ call: Call) async throws(ControlProblem) -> [UInt8]
}

extension CallingControl {
    package func value<Value: WireValue>(
        of call: Call, as type: Value.Type = Value.self
    ) async throws(ControlProblem) -> Value { try Value(response: try await send(call)) }
}
