import Jobs
import OperationTypes
import SQLiteStore
import Testing

@testable import Runner

/// Where an attempt's requests went is kept, whatever its end.
@Suite struct ConnectionTests {
    /// What sends a request may do so in a task of its own.
    private static func request(to origin: String) async -> ConnectionLog.Entry? {
        await Task { ConnectionLog.current?.begin(method: "GET", origin: origin, address: "192.0.2.1:80") }.value
    }

    private func connections(_ harness: RunnerHarness, _ job: JobID) async throws -> [ConnectionRecord] {
        let attempts = try await harness.store.attempts(of: job)
        return try #require(attempts.count == 1 ? ConnectionRecord.list(in: attempts[0].connections) : nil)
    }

    @Test func eachAttemptHasItsOwn() async throws {
        try await RunnerHarness.withStore(run: { input, _ throws(TestFailure) in
            if input.string == "0" { return input }
            await Self.request(to: input.string)?.update { $0.status = 503 }
            if input.string == "2" { throw TestFailure(isRetryable: false) }
            return input
        }) { harness in
            try await harness.running { runner in
                let jobs = try await harness.enqueue((0...2).map { try harness.job(input: "\($0)") })
                try await harness.wait(runner, for: jobs)
                #expect(try await harness.store.attempts(of: jobs[0]).map(\.connections) == [nil])
                for (job, origin) in zip(jobs, ["0", "1", "2"]).dropFirst() {
                    let found = try await connections(harness, job)
                    #expect(found.map(\.origin) == [origin] && found.map(\.status) == [503])
                    #expect(found.map(\.startedAt) == [harness.wall.now])
                }
                #expect(try await harness.store.job(jobs[2])?.state == .failed)
            }
        }
    }

    @Test func timedOutCancelledAndGivenUpKeepTheirs() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(
            [RunnerHarness.scripted(), RunnerHarness.scripted("short", timeout: .seconds(30))],
            run: { input, job throws(TestFailure) in
                let entry = await Self.request(to: input.string)
                if input.string == "3" { await gate.waitStubbornly(job) } else { _ = await gate.wait(job) }
                entry?.update { $0.error = "cancelled" }
                throw TestFailure(code: "stopped")
            }
        ) { harness in
            try await harness.running { runner in
                let timedOut = try await harness.enqueue(harness.job("short", input: "1"))
                let cancelled = try await harness.enqueue(harness.job(input: "2"))
                let givenUp = try await harness.enqueue(harness.job(input: "3"))
                let interrupted = try await harness.enqueue(harness.job(input: "4"))
                _ = await gate.arrived(4)
                harness.uptime.advance(by: .seconds(30))
                _ = try await harness.store.cancel([cancelled, givenUp], now: harness.wall.now)
                try await harness.wait(runner, for: [timedOut, cancelled])
                #expect(try await connections(harness, timedOut).map(\.error) == ["cancelled"])
                #expect(try await connections(harness, cancelled).map(\.error) == ["cancelled"])
                harness.uptime.advance(by: .seconds(5))
                try await harness.wait(runner, for: givenUp)
                // Still under way when its end was recorded.
                #expect(try await connections(harness, givenUp).map(\.error) == [nil])
                runner.interrupt()
                await runner.drain(limit: .seconds(60))
                #expect(try await connections(harness, interrupted).map(\.origin) == ["4"])
                gate.open()
            }
        }
    }
}
