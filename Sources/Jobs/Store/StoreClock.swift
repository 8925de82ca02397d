/// The clocks by which a store measures waits.
///
/// The moments of a calendar come from the caller's clock. A wait that was asked for as a duration is measured on a clock
/// that nobody sets, so that it lasts as long whatever happens to the wall clock (P8).
public protocol StoreClock: Sendable {
    /// Names the machine's current boot; another one after each restart of the machine.
    var boot: String { get }
    /// Time since the boot, also while the machine slept. It only grows.
    var sinceBoot: Duration { get }
    /// Says how much time passed while the machine was off, as well as that can be known.
    var wall: Timestamp { get }
}
