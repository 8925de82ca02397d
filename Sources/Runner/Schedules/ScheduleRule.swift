import CalendarEvents
import Jobs

/// Calculates the next time of a schedule.
///
/// - S1: The next time is the first one after ``ScheduleRecord/after``, which is the time last fired for, or the moment
///   from which times count. So the schedule fires only once for each time, and the result does not depend on when it
///   is calculated.
/// - S2: If several times have passed, the schedule fires once for all of them, and then continues from now.
/// - S3: While the daemon runs, a time that has passed is late, not missed: the machine slept, or its clock was set
///   forward. While no daemon ran, the time was missed, and only a persistent schedule makes up for it.
/// - S4: A schedule follows the wall clock, even after the clock was set back, when times that it has already fired for
///   come again. It fires for such a time again only if at least half of the schedule's interval has passed in real
///   time since it last fired; otherwise it skips the time. So a minutely schedule continues at the new clock's
///   minutes, and a daily one does not fire twice because the clock was set back by an hour. When the clock is
///   corrected again, times that were fired for before do not count as late.
/// - S5: A schedule fires for times that are at least a second apart, and skips times that come sooner.
struct ScheduleRule {
    /// A time that passed at most this long before the start is late, not missed, so that a restart or an upgrade loses
    /// no times.
    static let grace = Duration.seconds(60)
    /// The interval of S5, minus the millisecond after which the next time may come.
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

    /// Plans the next time.
    ///
    /// - Parameter sinceLast: The real time since the schedule last fired.
    func plan(after: Timestamp, now: Timestamp, sinceLast: Duration, _ occasion: Occasion) -> Plan {
        // A firing that is slightly early does not mean that the clock was set back.
        if after > now + Self.rest { return planAgain(after: after, now: now, sinceLast: sinceLast) }
        let next = times.next(after: after)
        guard occasion == .start, !isPersistent, let next, next + Self.grace < now else {
            return Plan(after: after, nextAt: next)
        }
        // Times within the last minute are late, not missed.
        let counting = Timestamp(milliseconds: now.milliseconds - Self.grace.milliseconds)
        return Plan(after: counting, nextAt: times.next(after: counting), missedAt: next)
    }

    /// Plans after the clock was set back, when the times up to `after` come again (S4).
    private func planAgain(after: Timestamp, now: Timestamp, sinceLast: Duration) -> Plan {
        var next = times.next(after: now)
        // The interval of each skipped time is longer than those of all earlier ones together, so the loop is short.
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

    /// Whether the schedule may fire for a time that has come: if the time is later than the last one fired for or
    /// skipped, if enough real time has passed (S4), or if another time has come since. Otherwise the time was planned
    /// while the clock was wrong.
    func isLate(_ time: Timestamp, since last: Timestamp, now: Timestamp, sinceLast: Duration) -> Bool {
        if time > last || sinceLast >= halfInterval(from: time) { return true }
        guard let next = times.next(after: last) else { return false }
        return next <= now
    }

    /// Plans the next time after `now`, when no time is late.
    func plan(skippingUntil now: Timestamp, last: Timestamp, sinceLast: Duration) -> Plan {
        plan(after: max(now, last), now: now, sinceLast: sinceLast, .running)
    }

    /// Plans the time after the one that fires now (S2, S5).
    func plan(firing time: Timestamp, now: Timestamp) -> Plan {
        let after = max(time + Self.rest, now)
        return Plan(after: after, nextAt: times.next(after: after))
    }
}
