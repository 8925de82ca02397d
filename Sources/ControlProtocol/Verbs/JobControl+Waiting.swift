import Jobs

extension JobControl {
    public func result(_ id: JobID, waiting: Duration) async throws(ControlProblem) -> JobResult? {
        if let result = try await result(id) { return result }
        let events = try await watch(.job(id))
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await event in events where event == .final { return } }
                group.addTask { try await Task.sleep(for: waiting) }
                try await group.next()
                group.cancelAll()
            }
        } catch let problem as ControlProblem {
            throw problem
        } catch {
            throw ControlProblem(.unavailable, "The wait for job \(id) was cancelled.")
        }
        return try await result(id)
    }
}
