/// Runs `work`, and cancels it when it takes longer than `limit`. Returns or throws only when `work` has ended.
///
/// - Parameter limit: Nil for no limit.
func withDeadline<T: Sendable>(
    _ limit: Duration?, failure: KindFailure, _ work: @escaping @Sendable () async throws(KindFailure) -> T
) async throws(KindFailure) -> T {
    guard let limit else { return try await work() }
    return try await withLimit(
        {
            // Cancelled when the work is done, or with all of it: either way there is nothing to report.
            try? await Task.sleep(for: limit)
        }, failure: failure, work)
}

/// Runs `work`, and cancels it when `limit` returns first. Returns or throws only when `work` has ended.
func withLimit<T: Sendable>(
    _ limit: @escaping @Sendable () async -> Void, failure: KindFailure,
    _ work: @escaping @Sendable () async throws(KindFailure) -> T
) async throws(KindFailure) -> T {
    let result = await withTaskGroup(of: Result<T, KindFailure>?.self) { group in
        group.addTask {
            do throws(KindFailure) { return .success(try await work()) } catch { return .failure(error) }
        }
        group.addTask {
            await limit()
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
