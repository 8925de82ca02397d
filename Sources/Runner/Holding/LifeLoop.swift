import Jobs

/// Decides when a runner begins and renews its life as a holder, when it rescues the jobs of others, and when it must
/// stop its attempts because its life may end. It turns events into actions, without a clock and without I/O.
///
/// - L1: Attempts are asked to stop ``margin`` before the earliest moment at which the life may end, and are abandoned a
///   tenth of the life before it, so that they are over when another holder may begin them again.
/// - L2: A life lasts from the moment at which its request was sent, not from the answer.
/// - L3: At most one request to begin a life, one renewal of the current life and one rescue are in flight.
/// - L4: After a lapse, a new life begins only when no attempt of the old one is left and their ends are answered.
/// - L5: A life that lapsed is never renewed, even if a late answer extends it (H1).
/// - L6: No job is claimed in a life before the jobs of the lives before it were rescued.
/// - L7: A life without a length is never renewed and has no alarm (P10).
struct LifeLoop {
    enum Event {
        case began(HolderLife, sentAt: Duration)
        case renewed(Renewal, of: HolderID, sentAt: Duration)
        case beginFailed(StoreError)
        case renewalFailed(StoreError, of: HolderID)
        /// The store says in another answer that this life has ended.
        case ended(HolderID)
        /// No attempt of the lapsed life is left.
        case attemptsOver
        /// The lives of other holders may have ended.
        case othersChanged
        case rescued
        case rescueFailed(StoreError)
        case alarm
        /// The runner ends.
        case leave
    }

    enum Action: Equatable {
        case begin
        case renew(HolderID)
        case rescue(HolderID)
        /// Jobs may be claimed in this life.
        case serve(HolderID)
        /// The attempts of this life must stop, and those that have not stopped within the limit must be abandoned. The
        /// limit is nil for a life without a length.
        case lapse(HolderID, limit: Duration?)
        /// The store failed in a way that only a restart can fix.
        case fail(StoreError)
    }

    private struct Life {
        let id: HolderID
        /// The moment at which the attempts are asked to stop; nil for never.
        var lapsesAt: Duration?
        /// The moment at which the attempts that have not stopped are abandoned; nil for never.
        var abandonsAt: Duration?
        var renewsAt: Duration?
        var isRenewing = false
        var wasRenewed = false
        var isServing = false
    }

    private enum Phase {
        /// The caller begins the first life.
        case new
        case alive(Life)
        case lapsed
        /// Waits for the answer, or for the moment of the next try.
        case beginning(at: Duration?)
        case over
    }

    private enum Rescue {
        case none, wanted
        case running(isWantedAgain: Bool)
        case waiting(until: Duration)
    }

    private var phase = Phase.new
    private var rescue = Rescue.none
    /// Whether the caller has not begun the first rescue.
    private var isFirst = true
    private var backoff = Backoff()
    private var rescueBackoff = Backoff()
    /// The waits before the next life while the store ends each one before its first renewal; nil if it does not. Without
    /// them, two daemons with one identity would end each other's lives without a pause.
    private var rebirth: Backoff?
    /// The time that attempts get to stop.
    private var grace: Duration

    init(grace: Duration) { self.grace = grace }

    /// The life that lasts; nil if there is none.
    var holder: HolderID? { if case .alive(let life) = phase { life.id } else { nil } }

    /// Whether a life has ended and the next one has not begun.
    var hasLapsed: Bool {
        switch phase {
        case .lapsed, .beginning: true
        case .new, .alive, .over: false
        }
    }

    /// The next moment at which there is something to do.
    var alarmAt: Duration? {
        var moments: [Duration?] = []
        switch phase {
        case .new, .lapsed: break
        case .over: return nil
        case .alive(let life): moments += [life.lapsesAt, life.isRenewing ? nil : life.renewsAt]
        case .beginning(let at): moments.append(at)
        }
        if case .waiting(let until) = rescue { moments.append(until) }
        return moments.compactMap(\.self).min()
    }

    /// The time between the request to stop and the end of a life of this length (L1): the attempts' grace, and a
    /// tenth of the life for slow threads and disks. At most half of the life, so that renewals can be repeated.
    static func margin(of length: Duration, grace: Duration) -> Duration {
        min(grace + reserve(of: length), length / 2)
    }

    /// The part of a life that is left when its attempts are over.
    static func reserve(of length: Duration) -> Duration { length / 10 }

    /// Begins the rescue of the first life, which the caller carries out; later ones are actions. Nil if the life has
    /// lapsed already.
    mutating func takeFirstRescue() -> HolderID? {
        isFirst = false
        guard case .alive(let life) = phase, !life.isServing, case .wanted = rescue else { return nil }
        rescue = .running(isWantedAgain: false)
        return life.id
    }

    mutating func apply(grace: Duration) { self.grace = grace }

    /// Handles an event.
    ///
    /// - Parameter now: The time of a clock that also counts while the machine is suspended.
    /// - Returns: The actions to perform, in order.
    mutating func handle(_ event: Event, now: Duration) -> [Action] {
        if case .over = phase { return [] }
        var actions: [Action] = []
        switch event {
        case .began(let life, let sentAt): began(life, sentAt)
        case .renewed(let renewal, let holder, let sentAt): renewed(renewal, of: holder, sentAt, now, &actions)
        case .beginFailed(let error): beginFailed(error, now, &actions)
        case .renewalFailed(let error, let holder): renewalFailed(error, of: holder, now, &actions)
        case .ended(let holder): if self.holder == holder { ended(now, &actions) }
        case .attemptsOver: attemptsOver(now)
        case .othersChanged: wantRescue()
        case .rescued: rescued(&actions)
        case .rescueFailed(let error): rescueFailed(error, now, &actions)
        case .alarm: break
        case .leave:
            phase = .over
            return []
        }
        actions += dueActions(now)
        return actions
    }

    private mutating func dueActions(_ now: Duration) -> [Action] {
        var actions: [Action] = []
        if case .alive(let life) = phase, let lapsesAt = life.lapsesAt, lapsesAt <= now { lapse(now, &actions) }
        if case .waiting(let until) = rescue, until <= now { rescue = .wanted }
        if case .alive(var life) = phase {
            if !life.isRenewing, let renewsAt = life.renewsAt, renewsAt <= now {
                life.isRenewing = true
                phase = .alive(life)
                actions.append(.renew(life.id))
            }
            if case .wanted = rescue, !isFirst {
                rescue = .running(isWantedAgain: false)
                actions.append(.rescue(life.id))
            }
        }
        if case .beginning(let at?) = phase, at <= now {
            phase = .beginning(at: nil)
            actions.append(.begin)
        }
        return actions
    }

    private mutating func began(_ life: HolderLife, _ sentAt: Duration) {
        backoff = Backoff()
        switch phase {
        case .new, .beginning: break
        case .alive, .lapsed, .over: return
        }
        phase = .alive(Life(id: life.id))
        extend(life, sentAt)
        // L6
        wantRescue()
    }

    /// Sets the moments of the life that lasts (L1, L2, L7).
    private mutating func extend(_ granted: HolderLife, _ sentAt: Duration) {
        guard case .alive(var life) = phase else { return }
        life.isRenewing = false
        if let length = granted.length {
            life.lapsesAt = sentAt + length - Self.margin(of: length, grace: grace)
            life.abandonsAt = sentAt + length - Self.reserve(of: length)
            life.renewsAt = sentAt + length / 3
        } else {
            (life.lapsesAt, life.abandonsAt, life.renewsAt) = (nil, nil, nil)
        }
        phase = .alive(life)
    }

    private mutating func renewed(
        _ renewal: Renewal, of holder: HolderID, _ sentAt: Duration, _ now: Duration, _ actions: inout [Action]
    ) {
        // L5
        guard self.holder == holder else { return }
        backoff = Backoff()
        switch renewal {
        case .renewed(let life):
            extend(life, sentAt)
            noteRenewal()
            if life.hasOrphans { wantRescue() }
        case .ended: ended(now, &actions)
        }
    }

    private mutating func noteRenewal() {
        guard case .alive(var life) = phase else { return }
        life.wasRenewed = true
        phase = .alive(life)
        rebirth = nil
    }

    /// The store has ended the life.
    private mutating func ended(_ now: Duration, _ actions: inout [Action]) {
        if case .alive(let life) = phase, !life.wasRenewed { rebirth = rebirth ?? Backoff() }
        lapse(now, &actions)
    }

    private mutating func attemptsOver(_ now: Duration) {
        guard case .lapsed = phase else { return }
        rebirth?.failed(now: now)
        phase = .beginning(at: rebirth?.retryAt ?? now)
    }

    private mutating func beginFailed(_ error: StoreError, _ now: Duration, _ actions: inout [Action]) {
        guard error.isPassing else { return actions.append(.fail(error)) }
        guard case .beginning(at: nil) = phase else { return }
        backoff.failed(now: now)
        phase = .beginning(at: backoff.retryAt)
    }

    private mutating func renewalFailed(
        _ error: StoreError, of holder: HolderID, _ now: Duration, _ actions: inout [Action]
    ) {
        guard error.isPassing else { return actions.append(.fail(error)) }
        // The renewal of a life that has lapsed says nothing about the next one (L5).
        guard case .alive(var life) = phase, life.id == holder else { return }
        backoff.failed(now: now)
        life.isRenewing = false
        life.renewsAt = backoff.retryAt
        phase = .alive(life)
    }

    private mutating func lapse(_ now: Duration, _ actions: inout [Action]) {
        guard case .alive(let life) = phase else { return }
        phase = .lapsed
        backoff = Backoff()
        actions.append(.lapse(life.id, limit: life.abandonsAt.map { max($0 - now, .zero) }))
    }

    private mutating func wantRescue() {
        switch rescue {
        case .none, .wanted, .waiting: rescue = .wanted
        case .running: rescue = .running(isWantedAgain: true)
        }
    }

    private mutating func rescued(_ actions: inout [Action]) {
        rescueBackoff = Backoff()
        let isWantedAgain = if case .running(let again) = rescue { again } else { false }
        rescue = isWantedAgain ? .wanted : .none
        guard case .alive(var life) = phase, !life.isServing, !isWantedAgain else { return }
        life.isServing = true
        phase = .alive(life)
        actions.append(.serve(life.id))
    }

    private mutating func rescueFailed(_ error: StoreError, _ now: Duration, _ actions: inout [Action]) {
        guard error.isPassing else { return actions.append(.fail(error)) }
        rescueBackoff.failed(now: now)
        rescue = rescueBackoff.retryAt.map { .waiting(until: $0) } ?? .wanted
    }
}
