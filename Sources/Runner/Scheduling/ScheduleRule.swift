import CalendarEvents
import Jobs

/// Decides when a schedule comes next.
///
/// - S1: Its next time is the first after ``ScheduleRecord/after``, which is the last time fired for, or the moment since
///   which it counts. So nothing fires twice for one time, and the same answer comes out whenever it is computed.
/// - S2: However many times have passed, they are made up for by one; the rest goes on from now.
/// - S3: While the daemon runs, a time that has passed is late, not missed: the machine slept, or its clock was set
///   forward. While none ran, it was missed; a persistent schedule makes up for it.
/// - S4: A schedule follows the wall clock, also after the clock was set back, when times that it has already fired for
///   come again. It fires for such a time again only if at least half of the schedule's interval has passed in real
///   time since it last fired; otherwise it skips the time. So a minutely schedule continues at the new clock's
///   minutes, and a daily one does not fire twice because the clock was set back by an hour. When the clock is
///   corrected again, times that were fired for before do not count as late.
/// - S5: It fires for times that are at least a second apart, and skips times that come sooner.
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

    /// - Parameter sinceLast: The real time that has passed since it last fired.
    func plan(after: Timestamp, now: Timestamp, sinceLast: Duration, _ occasion: Occasion) -> Plan {
        // A firing that is slightly early does not mean that the clock was set back.
        if after > now + Self.rest { return planAgain(after: after, now: now, sinceLast: sinceLast) }
        let next = times.next(after: after)
        guard occasion == .start, !isPersistent, let next, next + Self.grace < now else {
            return Plan(after: after, nextAt: next)
        }
        // The last minute's times are not missed.
        let counting = Timestamp(milliseconds: now.milliseconds - Self.grace.milliseconds)
        return Plan(after: counting, nextAt: times.next(after: counting), missedAt: next)
    }

    /// Plans after the clock was set back, when the times up to `after` come again (S4).
    private func planAgain(after: Timestamp, now: Timestamp, sinceLast: Duration) -> Plan {
        var next = times.next(after: now)
        // Each skipped time has a longer interval than all skipped before it together, so the loop is short.
        while let time = next, time <= after {
            if sinceLast + (time - now) >= halfInterval(from: time) {
                // This `after` makes repeated planning return the same time.
                return Plan(after: Timestamp(milliseconds: time.milliseconds - 1), nextAt: time)
            }
            next = times.next(after: time)
        }
        return Plan(after: after, nextAt: next)
    }

    private func halfInterval(from time: Timestamp) -> Duration {
        times.next(after: time).map { ($0 - time) / 2 } ?? .seconds(Int64.max)
    }

    /// Whether the schedule may fire for the time that has come: it is later than the last time that was fired for or
    /// skipped, or enough time has passed (S4), or another time has come since. Otherwise the time was planned by a
    /// wrong clock.
    func isLate(_ time: Timestamp, since last: Timestamp, now: Timestamp, sinceLast: Duration) -> Bool {
        if time > last || sinceLast >= halfInterval(from: time) { return true }
        guard let next = times.next(after: last) else { return false }
        return next <= now
    }

    /// The plan after `now`, when no time is late.
    func plan(leavingOutUntil now: Timestamp, last: Timestamp, sinceLast: Duration) -> Plan {
        plan(after: max(now, last), now: now, sinceLast: sinceLast, .running)
    }

    /// Plans the time after the one that fires now (S2, S5).
    func plan(firing time: Timestamp, now: Timestamp) -> Plan {
        let after = max(time + Self.rest, now)
        return Plan(after: after, nextAt: times.next(after: after))
    }
}
