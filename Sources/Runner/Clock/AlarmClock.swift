/// A clock that can be read and that can ring. The wall clock (`Timestamp`) decides when a job is due. The monotonic
/// clock (`Duration` since a fixed moment) measures how long an attempt runs.
public protocol AlarmClock<Moment>: Sendable {
    /// The clock's type of moment.
    associatedtype Moment: Comparable & Sendable

    /// The current moment.
    var now: Moment { get }

    /// Creates an alarm that is not set. An alarm that is dropped no longer rings.
    ///
    /// - Parameter ring: Called on any thread; must return quickly. It is also called whenever the clock is set,
    ///   whether or not the alarm is set.
    /// - Throws: An error of the clock, such as ``KernelTimerError``. Retrying is safe.
    func alarm(_ ring: @escaping @Sendable () -> Void) throws -> any Alarm<Moment>
}

/// An alarm of an ``AlarmClock``.
public protocol Alarm<Moment>: Sendable {
    /// The clock's type of moment.
    associatedtype Moment: Comparable & Sendable

    /// Sets the alarm to ring once, when the clock reads `moment` or later. If the clock itself is set before then, the
    /// alarm rings early: read the clock and set the alarm again. A new moment replaces the previous one; nil turns the
    /// alarm off.
    func set(_ moment: Moment?)
}
