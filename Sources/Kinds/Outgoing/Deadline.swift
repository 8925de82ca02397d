/// Runs `work`, and cancels it when it takes longer than `limit`. Returns or throws only when `work` has ended.
///
/// - Parameter limit: Nil for no limit.
func withDeadline<T: Sendable>(
    _ limit: Duration?, failure: KindFailure, _ work: @escaping @Sendable () async throws(KindFailure) -> T
) async throws(KindFailure) -> T {
    guard let limit else { return try await work() }
    let result = await withTaskGroup(of: Result<T, KindFailure>?.self) { group in
        group.addTask {
            do throws(KindFailure) { return .success(try await work()) } catch { return .failure(error) }
        }
        group.addTask {
            // Cancelled when the work is done, or with all of it: either way there is nothing to report.
            try? await Task.sleep(for: limit)
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        if first != nil { return first }
        let work = await group.next() ?? nil
        // Work that ended well at the last moment is not thrown away.
        if case .success = work { return work }
        return Task.isCancelled ? .failure(.cancelled) : .failure(failure)
    }
    guard let result else { throw failure }
    return try result.get()
}
