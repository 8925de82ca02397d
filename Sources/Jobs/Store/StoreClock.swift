/// The clocks by which a store measures waits.
///
/// Calendar times come from the caller's clock. A wait that was requested as a duration is measured on a steady clock,
/// so that setting the wall clock does not change its length (P8).
public protocol StoreClock: Sendable {
    /// The identifier of the machine's current boot. It changes whenever the machine restarts.
    var boot: String { get }
    /// The time since boot, including suspend. It never goes backwards.
    var sinceBoot: Duration { get }
    /// The wall clock. It is the best estimate of how much time passed while the machine was off.
    var wall: Timestamp { get }
}
