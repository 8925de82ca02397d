/// Measures the in-process operations, compared with `Task`, a checked continuation, a plain `Operation` and a
/// raw `DispatchQueue`.
func measureOperations() async -> [Row] {
    await measureFutures() + measureThreads() + measureQueues()
}
