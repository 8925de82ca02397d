import CTimerFD
import Glibc
import Jobs

/// The machine's wall clock. Its alarms also ring when the clock is set (P8).
public struct SystemWallClock: AlarmClock {
    /// Creates the clock.
    public init() {}

    /// The current time, in whole milliseconds.
    public var now: Timestamp {
        let time = readClock(CLOCK_REALTIME)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Creates an alarm that is not set; see ``AlarmClock/alarm(_:)``.
    ///
    /// - Throws: ``KernelTimerError`` if the process cannot open more files.
    public func alarm(_ ring: @escaping @Sendable () -> Void) throws -> any Alarm<Timestamp> {
        let timer = try KernelTimer(clock: CLOCK_REALTIME, ring: ring)
        // The kernel reports a change to the clock only to timers that have been set.
        timer.set(nil)
        return TimerAlarm(timer: timer) { moment in
            let milliseconds = max(moment.milliseconds, 0)
            return timespec(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
        }
    }
}

/// The machine's monotonic clock, the time since boot without suspend.
public struct SystemUptimeClock: AlarmClock {
    /// Creates the clock.
    public init() {}

    /// The time since boot, without suspend.
    public var now: Duration {
        let time = readClock(CLOCK_MONOTONIC)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Creates an alarm that is not set; see ``AlarmClock/alarm(_:)``.
    ///
    /// - Throws: ``KernelTimerError`` if the process cannot open more files.
    public func alarm(_ ring: @escaping @Sendable () -> Void) throws -> any Alarm<Duration> {
        TimerAlarm(timer: try KernelTimer(clock: CLOCK_MONOTONIC, ring: ring), time: timespec.init(since:))
    }
}

/// The machine's monotonic clock, the time since boot with suspend. It measures the lives of holders, which end for
/// other machines while this one is suspended.
public struct SystemBootClock: AlarmClock {
    /// Creates the clock.
    public init() {}

    /// The time since boot, with suspend.
    public var now: Duration {
        let time = readClock(CLOCK_BOOTTIME)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Creates an alarm that is not set; see ``AlarmClock/alarm(_:)``.
    ///
    /// - Throws: ``KernelTimerError`` if the process cannot open more files.
    public func alarm(_ ring: @escaping @Sendable () -> Void) throws -> any Alarm<Duration> {
        TimerAlarm(timer: try KernelTimer(clock: CLOCK_BOOTTIME, ring: ring), time: timespec.init(since:))
    }
}

private struct TimerAlarm<Moment: Comparable & Sendable>: Alarm {
    let timer: KernelTimer
    let time: @Sendable (Moment) -> timespec

    func set(_ moment: Moment?) { timer.set(moment.map(time)) }
}

extension timespec {
    @Sendable fileprivate init(since moment: Duration) {
        let (seconds, attoseconds) = max(moment, .zero).components
        self.init(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    }
}

private func readClock(_ clock: clockid_t) -> timespec {
    var time = timespec()
    let result = clock_gettime(clock, &time)
    precondition(result == 0, "these clocks exist on every Linux")
    return time
}
