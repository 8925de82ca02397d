import Jobs
import Testing

@testable import Daemon

@Suite(.timeLimit(.minutes(1))) struct WakeupsTests {
    /// A database server whose answer was lost, or that cannot be reached, does not end the daemon.
    @Test(arguments: [
        StoreError.unanswered(server: "db", message: "cut"), .unreachable(server: "db", message: "cut"),
    ])
    func bodyIsCalledAgainAfterAnErrorThatPasses(_ error: StoreError) async throws {
        let wakeups = Wakeups()
        wakeups.wake()
        let (calls, sink) = AsyncStream.makeStream(of: Int.self)
        let task = Task {
            var count = 0
            try await wakeups.forEach(retryingAfter: .milliseconds(1)) { () throws(StoreError) in
                count += 1
                sink.yield(count)
                if count == 1 { throw error }
            }
        }
        _ = await calls.first { $0 == 2 }
        task.cancel()
        try await task.value
    }

    @Test func otherErrorsEndIt() async throws {
        let wakeups = Wakeups()
        wakeups.wake()
        await #expect(throws: StoreError.closed) {
            try await wakeups.forEach(retryingAfter: .milliseconds(1)) { () throws(StoreError) in throw .closed }
        }
    }
}
