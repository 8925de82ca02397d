/// A clock that can be read and that rings: the wall clock (`Timestamp`) decides when a job is due, the monotonic one
/// (`Duration` since some fixed moment) how long an attempt may take.
public protocol AlarmClock<Moment>: Sendable {
    associatedtype Moment: Comparable & Sendable

    var now: Moment { get }

    /// Makes an alarm that is not set. It is silent once it is dropped.
    ///
    /// - Parameter ring: Called on any thread; returns quickly. Called also whenever somebody sets the clock, whether or
    ///   not the alarm is set.
    func alarm(_ ring: @escaping @Sendable () -> Void) throws -> any Alarm<Moment>
}

public protocol Alarm<Moment>: Sendable {
    associatedtype Moment: Comparable & Sendable

    /// Rings once when the clock reads `moment` or later, or when somebody sets the clock before that: look at the clock
    /// and set the alarm again. A new moment replaces the old one; nil silences.
    func set(_ moment: Moment?)
}
