import CalendarEvents
import Jobs

/// Decides when a schedule comes next.
///
/// - S1: Its next time is the first after ``ScheduleRecord/after``, which is the last time fired for, or the moment since
///   which it counts. So nothing fires twice for one time, and the same answer comes out whenever it is computed.
/// - S2: However many times have passed, they are made up for by one; the rest goes on from now.
/// - S3: While the daemon runs, a time that has passed is late, not missed: the machine slept, or its clock was set
///   forward. While none ran, it was missed; a persistent schedule makes up for it.
/// - S4: A schedule follows the clock as it is. After the clock was set back, a time that was fired for before comes again;
///   it fires again once half of the schedule's own interval has really passed since it fired last, and is left out
///   otherwise. So what comes every minute goes on at the new clock's minutes, and what comes once a day does not come
///   twice because the clock lost an hour. Once the clock is right again, the time that was fired for before is not late a
///   second time.
/// - S5: It fires for times that are at least a second apart; what comes sooner is left out.
struct ScheduleRule {
    /// A time that came this long before the start is late and not missed: a restart or an upgrade loses none.
    static let grace = Duration.seconds(60)
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

    /// - Parameter sinceLast: The time that has really passed since it fired last.
    func plan(after: Timestamp, now: Timestamp, sinceLast: Duration, _ occasion: Occasion) -> Plan {
        // What fires a moment early is not a clock that was set back.
        if after > now + Self.rest { return planAgain(after: after, now: now, sinceLast: sinceLast) }
        let next = times.next(after: after)
        guard occasion == .start, !isPersistent, let next, next + Self.grace < now else {
            return Plan(after: after, nextAt: next)
        }
        // The last minute's times are not missed.
        let counting = Timestamp(milliseconds: now.milliseconds - Self.grace.milliseconds)
        return Plan(after: counting, nextAt: times.next(after: counting), missedAt: next)
    }

    /// The clock was set back: the times up to `after` come again. (S4)
    private func planAgain(after: Timestamp, now: Timestamp, sinceLast: Duration) -> Plan {
        var next = times.next(after: now)
        // Each time that is left out has a longer interval than all before it together, so there are few.
        while let time = next, time <= after {
            if sinceLast + (time - now) >= halfInterval(from: time) {
                // So that the same time is planned whenever this is asked.
                return Plan(after: Timestamp(milliseconds: time.milliseconds - 1), nextAt: time)
            }
            next = times.next(after: time)
        }
        return Plan(after: after, nextAt: next)
    }

    private func halfInterval(from time: Timestamp) -> Duration {
        times.next(after: time).map { ($0 - time) / 2 } ?? .seconds(Int64.max)
    }

    /// Whether the time that has come may fire: it is later than the last one that was fired for or left out, or as much
    /// time has passed as S4 asks for, or another one has come since. If not, it was planned by a wrong clock.
    func isLate(_ time: Timestamp, since last: Timestamp, now: Timestamp, sinceLast: Duration) -> Bool {
        if time > last || sinceLast >= halfInterval(from: time) { return true }
        guard let next = times.next(after: last) else { return false }
        return next <= now
    }

    /// What comes after now, when nothing is late.
    func plan(leavingOutUntil now: Timestamp, last: Timestamp, sinceLast: Duration) -> Plan {
        plan(after: max(now, last), now: now, sinceLast: sinceLast, .running)
    }

    /// What follows the time that fires now. (S2, S5)
    func plan(firing time: Timestamp, now: Timestamp) -> Plan {
        let after = max(time + Self.rest, now)
        return Plan(after: after, nextAt: times.next(after: after))
    }
}
