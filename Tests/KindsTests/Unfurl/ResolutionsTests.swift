import Jobs
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Kinds
@testable import Web

/// Which results are cached, and for how long.
@Suite struct ResolutionsTests {
    private let key = Resolutions.Key(url: "http://h/", limit: 20, readsPage: true, timeout: .seconds(60))
    private let output = Unfurl.Output(
        finalURL: "http://h/", status: 200, cleanedURL: "http://h/", isDowngraded: false, hops: [])

    private final class Clock: Sendable {
        private let moment = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { moment.withLock { $0 } }
        func advance(by duration: Duration) { moment.withLock { $0 += duration } }
    }

    /// Number of times that two requests for a link, `duration` apart, resolve it.
    private func resolutions(_ answer: Resolutions.Answer, after duration: Duration) async -> Int {
        let clock = Clock()
        var configuration = UnfurlConfiguration()
        configuration.keeps = .seconds(300)
        let resolutions = Resolutions(configuration, now: { clock.now })
        let count = Mutex(0)
        for _ in 0..<2 {
            let given: Resolutions.Answer
            do throws(KindFailure) {
                given = .success(
                    try await resolutions.answer(key) { _ in
                        count.withLock { $0 += 1 }
                        return answer
                    })
            } catch {
                given = .failure(error)
            }
            #expect(given == answer)
            clock.advance(by: duration)
        }
        return count.withLock { $0 }
    }

    @Test func answerServesUntilItExpires() async {
        #expect(await resolutions(.success(output), after: .seconds(299)) == 1)
        #expect(await resolutions(.success(output), after: .seconds(300)) == 2)
    }

    @Test func finalFailureServesForAShortTime() async {
        let failure = Resolutions.Answer.failure(KindFailure(.httpStatus, "", status: 404))
        #expect(await resolutions(failure, after: .seconds(29)) == 1)
        #expect(await resolutions(failure, after: .seconds(30)) == 2)
    }

    @Test func failureThatMayPassIsAskedAgain() async {
        let failure = Resolutions.Answer.failure(KindFailure(.timeout, "", isRetryable: true))
        #expect(await resolutions(failure, after: .zero) == 2)
    }

    @Test func chainOfLongAddressesIsNotKept() async throws {
        var long = output
        long.hops = try (0..<3).map {
            Hop(unasked: try WebURL(parsing: "http://h/\($0)" + String(repeating: "x", count: 12 << 10)))
        }
        #expect(await resolutions(.success(long), after: .zero) == 2)
    }

    @Test func whoLeavesDoesNotTakeTheAnswerFromOthers() async throws {
        let resolutions = Resolutions(UnfurlConfiguration())
        let (begun, mayEnd) = (Signal(), Signal())
        let resolve: @Sendable (Stopwatch) async -> Resolutions.Answer = { [output] _ in
            begun.open()
            await mayEnd.uncancellableWait()
            return Task.isCancelled ? .failure(.cancelled) : .success(output)
        }
        let first = Task {
            await failure { () async throws(KindFailure) in try await resolutions.answer(key, resolve: resolve) }
        }
        await begun.wait()
        let second = Task { try await resolutions.answer(key, resolve: { _ in .failure(.cancelled) }) }
        // Both callers now wait for the same resolution.
        while resolutions.waiting(for: key) < 2 { await Task.yield() }
        first.cancel()
        // A cancelled caller does not wait for the result.
        #expect(await first.value?.code == "cancelled")
        mayEnd.open()
        let answer = try await second.value
        #expect(answer == output)
    }

    /// Cancelling a caller while its resolution begins never causes a deadlock.
    @Test(.timeLimit(.minutes(2))) func callersThatAreCancelledAsTheyBeginHangNobody() async {
        let resolutions = Resolutions(UnfurlConfiguration(), now: { .now })
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                let key = Resolutions.Key(url: "http://h/\(number)", limit: 20, readsPage: true, timeout: .seconds(60))
                group.addTask {
                    for _ in 0..<3000 {
                        let caller = Task {
                            // The cancellation may come before or after the result.
                            _ = try? await ConnectionLog.$current.withValue(
                                ConnectionLog(now: { Timestamp(milliseconds: 0) })
                            ) {
                                try await resolutions.answer(key) { _ in
                                    .failure(KindFailure(.timeout, "", isRetryable: true))
                                }
                            }
                        }
                        caller.cancel()
                        await caller.value
                    }
                    #expect(resolutions.waiting(for: key) == 0)
                }
            }
        }
    }
}
