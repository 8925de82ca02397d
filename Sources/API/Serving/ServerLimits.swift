import ControlProtocol

/// The limits for the callers of a server.
public struct ServerLimits: Sendable, Hashable {
    /// The number of connections for all users together. At the limit, a new connection replaces one that
    /// carries no request.
    public var connections: Int
    /// The number of connections for one user, except root and the daemon's user. If all of the user's
    /// connections carry requests, a further connection is refused.
    public var connectionsPerUser: Int
    /// How long a connection may send nothing: between requests, within a request's head, and within a body.
    public var idle: Duration
    /// How long a peer may leave an answer unread.
    public var stall: Duration
    /// How long a caller may pause while reading a large answer.
    public var reading: Duration
    /// The memory, in bytes, that answers of more than 8 KiB and streams of events may occupy for all callers together.
    public var answerBytes: Int
    /// How long a peer may stay after the last answer of its connection.
    public var linger: Duration
    /// How long a JSON body may take.
    public var body: Duration
    /// How long after a stop the next request may still arrive on a connection that has carried one. If the connection
    /// were closed at once, the sender would not know whether the request was carried out.
    public var arrival: Duration
    /// The same for the first request of a connection. It is longer, since a sender that has just connected may
    /// be slow on a busy machine.
    public var firstArrival: Duration
    /// How long requests in progress may continue after a stop.
    public var drain: Duration

    /// - Parameter connectionsPerUser: Nil for a quarter of `connections`.
    public init(
        connections: Int = 512, connectionsPerUser: Int? = nil, idle: Duration = .seconds(60),
        stall: Duration = .seconds(300), reading: Duration = .seconds(30), answerBytes: Int = 16 << 20,
        linger: Duration = .seconds(1), body: Duration = .seconds(30), arrival: Duration = .milliseconds(200),
        firstArrival: Duration = .seconds(2), drain: Duration = .seconds(10)
    ) {
        self.connections = connections
        self.connectionsPerUser = connectionsPerUser ?? max(1, connections / 4)
        self.idle = idle
        self.stall = stall
        self.reading = reading
        self.answerBytes = answerBytes
        self.linger = linger
        self.body = body
        self.arrival = arrival
        self.firstArrival = max(arrival, firstArrival)
        self.drain = drain
    }
}

extension ServerLimits {
    func tooManyConnections(of peer: PeerCredentials) -> ControlProblem {
        ControlProblem(
            .unavailable,
            "User \(peer.uid) has reached the limit of connections with unfinished requests. Close some, or try again later."
        )
    }
}
