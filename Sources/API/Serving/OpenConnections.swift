import NIOCore
import Synchronization

/// Tracks the open connections, so that a stop can close them and no user can occupy all of them.
///
/// Invariants:
/// - C1: one user has at most ``ServerLimits/connectionsPerUser``; root and the daemon's user may have more, but leave
///   an eighth of all connections to others.
/// - C2: the last quarter of the connections goes only to users with few connections, and the last 1/32 only to root
///   and the daemon's user.
/// - C3: when there is no room, a new connection replaces one that carries no request: of the same user if possible,
///   otherwise of the user with the most connections. The connection that has been idle longest goes first.
/// - C4: a refused connection gets an answer; few refused connections are open at a time.
final class OpenConnections: Sendable {
    fileprivate struct Connection {
        let channel: any Channel
        /// The user; nil until the connection is admitted or refused.
        var user: UInt32?
        var isRefused = false
        /// The number of requests that are being carried out.
        var requests = 0
        var hasCarriedRequests = false
        /// A sequence number that orders connections by when they became idle.
        var idleSince: UInt64
    }

    fileprivate struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        var ofUser: [UInt32: Int] = [:]
        var admitted = 0
        var refused = 0
        var moment: UInt64 = 0
        var isClosing = false
    }

    private let state = Mutex(State())
    private let limits: ServerLimits
    private let unlimitedUsers: Set<UInt32>

    /// A user with fewer connections than this may use the last quarter (C2).
    private var few: Int { max(1, limits.connections / 32) }
    private var maxRefused: Int { max(1, limits.connections / 8) }

    init(limits: ServerLimits, unlimitedUsers: Set<UInt32>) {
        self.limits = limits
        self.unlimitedUsers = unlimitedUsers
    }

    /// Tracks a connection. If ``quiesce()`` was already called, the connection is closed after its request.
    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let isLate = state.withLock { state in
            state.moment += 1
            state.connections[id] = Connection(channel: channel, idleSince: state.moment)
            return state.isClosing
        }
        channel.closeFuture.whenComplete { [weak self] _ in self?.state.withLock { $0.remove(id) } }
        if isLate { quiesce(channel, after: limits.firstArrival) }
    }

    /// Counts a connection for its user until the connection is closed. It may close another connection that
    /// carries no request.
    ///
    /// - Returns: False if the user may have no more connections. The caller then answers with that problem.
    func admit(_ channel: any Channel, for user: UInt32) -> Bool {
        let (isAdmitted, leaving) = state.withLock { state -> (Bool, (any Channel)?) in
            let leaving = makeRoom(for: user, in: &state)
            let isAdmitted = leaving != nil || hasRoom(for: user, in: state)
            let surplus = state.enroll(ObjectIdentifier(channel), user, isRefused: !isAdmitted, maxRefused: maxRefused)
            return (isAdmitted, leaving ?? surplus)
        }
        leaving?.close(promise: nil)
        return isAdmitted
    }

    private func hasRoom(for user: UInt32, in state: State) -> Bool {
        let own = state.ofUser[user, default: 0]
        let limit = limits.connections
        // C1, C2. With small limits, as in tests, the fractions are 0 and nothing is reserved.
        if unlimitedUsers.contains(user) { return own < limit - limit / 8 && state.admitted < limit }
        guard own < limits.connectionsPerUser, state.admitted < limit - limit / 32 else { return false }
        return own < few || state.admitted < limit - limit / 4
    }

    /// Selects and removes the connection to replace (C3). Returns nil if there is room already, or if no
    /// connection may be replaced.
    private func makeRoom(for user: UInt32, in state: inout State) -> (any Channel)? {
        if hasRoom(for: user, in: state) { return nil }
        let idle = state.connections.filter { $1.requests == 0 && $1.user != nil && !$1.isRefused }
        let own = idle.filter { $1.user == user }
        let victim =
            own.min { $0.value.idleSince < $1.value.idleSince }
            ?? idle.max { a, b in
                let (ofA, ofB) = (state.ofUser[a.value.user!, default: 0], state.ofUser[b.value.user!, default: 0])
                return (ofA, b.value.idleSince) < (ofB, a.value.idleSince)
            }
        guard let victim else { return nil }
        // A user with many connections may replace only one of their own.
        if victim.value.user != user, state.ofUser[user, default: 0] >= few { return nil }
        state.remove(victim.key)
        return victim.value.channel
    }

    /// Marks the connection as carrying a request until ``endRequest(_:)``.
    func beginRequest(_ channel: any Channel) {
        state.withLock { state in
            state.connections[ObjectIdentifier(channel)]?.requests += 1
            state.connections[ObjectIdentifier(channel)]?.hasCarriedRequests = true
        }
    }

    func endRequest(_ channel: any Channel) {
        state.withLock { state in
            state.moment += 1
            state.connections[ObjectIdentifier(channel)]?.requests -= 1
            state.connections[ObjectIdentifier(channel)]?.idleSince = state.moment
        }
    }

    // MARK: Stopping

    /// Closes every connection after its last answer. Before that, a connection may still receive a request for
    /// ``ServerLimits/arrival``.
    func quiesce() {
        let channels = state.withLock { state in
            state.isClosing = true
            return state.connections.values.map {
                ($0.channel, $0.hasCarriedRequests ? limits.arrival : limits.firstArrival)
            }
        }
        for (channel, arrival) in channels { quiesce(channel, after: arrival) }
    }

    private func quiesce(_ channel: any Channel, after arrival: Duration) {
        channel.eventLoop.scheduleTask(in: TimeAmount(arrival)) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    func closeAll() {
        for channel in state.withLock({ $0.connections.values.map(\.channel) }) { channel.close(promise: nil) }
    }
}

extension OpenConnections.State {
    /// Records an admitted or refused connection (C4).
    ///
    /// - Returns: An older refused connection to close.
    fileprivate mutating func enroll(
        _ id: ObjectIdentifier, _ user: UInt32, isRefused: Bool, maxRefused: Int
    ) -> (any Channel)? {
        // The connection may have been closed in the meantime.
        guard connections[id] != nil else { return nil }
        connections[id]?.user = user
        connections[id]?.isRefused = isRefused
        guard isRefused else {
            admitted += 1
            ofUser[user, default: 0] += 1
            return nil
        }
        refused += 1
        guard refused > maxRefused,
            let oldest = connections.filter({ $1.isRefused && $0 != id }).min(by: {
                $0.value.idleSince < $1.value.idleSince
            })
        else { return nil }
        remove(oldest.key)
        return oldest.value.channel
    }

    fileprivate mutating func remove(_ id: ObjectIdentifier) {
        guard let gone = connections.removeValue(forKey: id), let user = gone.user else { return }
        if gone.isRefused {
            refused -= 1
            return
        }
        admitted -= 1
        let rest = ofUser[user, default: 1] - 1
        ofUser[user] = rest > 0 ? rest : nil
    }
}
