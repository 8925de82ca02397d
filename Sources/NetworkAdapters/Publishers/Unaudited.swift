/// A publisher's part whose type OpenCombine does not declare `Sendable`, though Combine's rules let other threads use it: a
/// subscription may be cancelled, and a subscriber called, from any thread, one call at a time.
///
/// SAFETY: Kept under a lock, or given to exactly one caller.
struct Unaudited<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
