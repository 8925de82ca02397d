import StoreParts

/// Starts a thread of the store.
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(StoreOpenError) {
    do throws(ThreadError) {
        try StoreParts.startThread(named: name, body)
    } catch {
        throw .system(operation: "start a thread", path: "", code: error.code)
    }
}
