/// A value of a publisher whose type OpenCombine does not declare `Sendable`, although Combine allows use from other
/// threads: a subscription may be cancelled, and a subscriber called, from any thread, one call at a time.
///
/// SAFETY: The value is kept under a lock, or passed to exactly one caller.
struct Unaudited<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
