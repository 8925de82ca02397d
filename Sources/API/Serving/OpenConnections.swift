import NIOCore
import Synchronization

/// The connections that are open, so that a stop reaches them and nobody takes all of them.
///
/// Invariants:
/// - C1: one user has at most ``ServerLimits/connectionsPerUser``; root and the daemon's own user have more, but leave an
///   eighth of all connections to others.
/// - C2: the last quarter of the connections goes only to users with few, the last of all only to root and the daemon's own
///   user.
/// - C3: a connection that carries no request gives way to a new one: first one of the same user, else one of the user with
///   the most. The connection that has carried none for longest goes first.
/// - C4: a refused connection gets an answer; few of them are open at a time.
final class OpenConnections: Sendable {
    fileprivate struct Connection {
        let channel: any Channel
        /// Nil until it is admitted or refused.
        var user: UInt32?
        var isRefused = false
        /// Requests that are being carried out.
        var requests = 0
        var hasCarriedRequests = false
        /// Counts the moments at which connections became idle.
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

    /// A user with fewer may have some of the last quarter.
    private var few: Int { max(1, limits.connections / 32) }
    private var maxRefused: Int { max(1, limits.connections / 8) }

    init(limits: ServerLimits, unlimitedUsers: Set<UInt32>) {
        self.limits = limits
        self.unlimitedUsers = unlimitedUsers
    }

    /// A connection that comes after ``quiesce()`` is closed after its request.
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

    /// Counts a connection for its user until it is closed; may close another one that carries no request.
    ///
    /// - Returns: False when the user may have no more: the connection is to be answered so.
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
        // C1, C2. Small limits, as in tests, are not divided.
        if unlimitedUsers.contains(user) { return own < limit - limit / 8 && state.admitted < limit }
        guard own < limits.connectionsPerUser, state.admitted < limit - limit / 32 else { return false }
        return own < few || state.admitted < limit - limit / 4
    }

    /// C3. Nil where there is room already, or where every connection carries a request.
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
        // Only the connection of another user does not help a user who has as many as one may have.
        if victim.value.user != user, state.ofUser[user, default: 0] >= few { return nil }
        state.remove(victim.key)
        return victim.value.channel
    }

    /// A request has arrived on the connection; it carries one until ``endRequest(_:)``.
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

    // MARK: The end

    /// Closes connections that carry no request, and the others after their answer.
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
    /// C4.
    ///
    /// - Returns: A refused connection that gives way to this one.
    fileprivate mutating func enroll(
        _ id: ObjectIdentifier, _ user: UInt32, isRefused: Bool, maxRefused: Int
    ) -> (any Channel)? {
        // Closed meanwhile.
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
