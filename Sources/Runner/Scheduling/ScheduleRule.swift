import CalendarEvents
import Jobs

/// Decides when a schedule comes next.
///
/// - S1: Its next time is the first after ``ScheduleRecord/after``, which is the last time fired for, or the moment since
///   which it counts. So nothing fires twice for one time, and the same answer comes out whenever it is computed.
/// - S2: However many times have passed, they are made up for by one; the rest goes on from now.
/// - S3: While the daemon runs, a time that has passed is late, not missed: the machine slept, or its clock was set
///   forward. While none ran, it was missed; a persistent schedule makes up for it.
/// - S4: A clock that was set back repeats nothing. After more than a day it was wrong before, and what it said then does
///   not count. Once it is right again, the time that was fired for before is not late a second time.
/// - S5: It fires for times that are at least a second apart; what comes sooner is left out.
struct ScheduleRule {
    /// A time that came this long before the start is late and not missed: a restart or an upgrade loses none.
    static let grace = Duration.seconds(60)
    static let longestSetback = Duration.seconds(86_400)
    /// S5, less the millisecond after which the next time may come.
    static let rest = Duration.milliseconds(999)

    enum Occasion { case start, running }

    let times: CalendarTimes
    let isPersistent: Bool

    struct Plan: Equatable {
        var after: Timestamp
        var nextAt: Timestamp?
        /// The first time that was missed and is not made up for.
        var missedAt: Timestamp?
    }

    func plan(after: Timestamp, now: Timestamp, _ occasion: Occasion) -> Plan {
        // S4
        let after = after > now + Self.longestSetback ? now : after
        let next = times.next(after: after)
        guard occasion == .start, !isPersistent, let next, next + Self.grace < now else {
            return Plan(after: after, nextAt: next)
        }
        // The last minute's times are not missed.
        let counting = Timestamp(milliseconds: now.milliseconds - Self.grace.milliseconds)
        return Plan(after: counting, nextAt: times.next(after: counting), missedAt: next)
    }

    /// Whether a time has come since the last one that was fired for or left out. If none has, what the schedule waited for
    /// was planned by a wrong clock. (S4)
    func isLate(since last: Timestamp, now: Timestamp) -> Bool {
        // The clock is wrong now, and the last time says nothing.
        if last > now { return true }
        guard let next = times.next(after: last) else { return false }
        return next <= now
    }

    /// What comes after now, when nothing is late.
    func plan(leavingOutUntil now: Timestamp) -> Plan { Plan(after: now, nextAt: times.next(after: now)) }

    /// What follows the time that fires now. (S2, S5)
    func plan(firing time: Timestamp, now: Timestamp) -> Plan {
        let after = max(time + Self.rest, now)
        return Plan(after: after, nextAt: times.next(after: after))
    }
}
