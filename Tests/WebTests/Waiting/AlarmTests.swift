import NIOCore
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing

@testable import Web

/// Time limits on work, and the alarms that implement them.
@Suite struct AlarmTests {
    @Test func alarmsRingWhenTheyAreDueUnlessTheyAreCancelled() async {
        let first = Signal()
        let last = Signal()
        let rang = Mutex<[Int]>([])
        let start = ContinuousClock.now
        _ = Alarm.set(after: .milliseconds(120)) {
            rang.withLock { $0.append(2) }
            last.open()
            return nil
        }
        let cancelled = Alarm.set(after: .milliseconds(60)) {
            rang.withLock { $0.append(0) }
            return nil
        }
        _ = Alarm.set(after: .milliseconds(1)) {
            rang.withLock { $0.append(1) }
            first.open()
            return nil
        }
        cancelled.cancel()
        await first.wait()
        await last.wait()
        #expect(ContinuousClock.now - start >= .milliseconds(120))
        #expect(rang.withLock(\.self) == [1, 2])
    }

    @Test func alarmMayBeDueInTheFarFuture() {
        for delay in [Duration.milliseconds(Int64.max), .seconds(Int64.max)] {
            let alarm = Alarm.set(after: delay) {
                Issue.record("rang")
                return nil
            }
            alarm.cancel()
        }
    }

    @Test func alarmRingsAgainUntilItsActionReturnsNil() async {
        let end = Signal()
        let count = Mutex(0)
        _ = Alarm.set(after: .zero) {
            count.withLock { $0 += 1 }
            if count.withLock(\.self) < 3 { return .milliseconds(1) }
            end.open()
            return nil
        }
        await end.wait()
        #expect(count.withLock(\.self) == 3)
    }

    /// Each alarm that is not cancelled rings once, even if many threads set and cancel alarms concurrently.
    @Test func manyAlarmsOfManyThreads() async {
        let rings = Rings()
        let end = Signal()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2000 {
                group.addTask {
                    let alarm = Alarm.set(after: .milliseconds(number % 7 * 20)) {
                        if rings.note(number) == 1000 { end.open() }
                        return nil
                    }
                    if number % 2 == 1 { alarm.cancel() }
                }
            }
        }
        await end.wait()
        #expect(rings.counts.allSatisfy { $0 == 1 })
    }

    /// Number of rings of each alarm.
    private final class Rings: Sendable {
        private let byNumber = Mutex<[Int: Int]>([:])
        var counts: [Int] { byNumber.withLock { Array($0.values) } }

        /// - Returns: Number of alarms that have rung, among those that are never cancelled.
        func note(_ number: Int) -> Int {
            byNumber.withLock { byNumber in
                byNumber[number, default: 0] += 1
                return byNumber.keys.count { $0 % 2 == 0 }
            }
        }
    }

    @Test func workThatExceedsItsLimitIsCancelledWithTheReason() async {
        let failure = await failure { () async throws(KindFailure) in
            try await withDeadline(.milliseconds(10), failure: .timeout("it", after: .milliseconds(10), at: nil)) {
                () async throws(KindFailure) in
                // Returns when the task is cancelled.
                try? await Task.sleep(for: .seconds(600))
                #expect(Overrun.cause.reason == .timeout)
                throw .cancelled
            }
        }
        #expect(failure?.reason == .timeout)
    }

    /// The work continues while its remaining time is paused.
    @Test func limitWaitsWhileTheTimeIsPaused() async throws {
        let left = Mutex(Duration.milliseconds(1))
        let asked = Signal()
        let count = Mutex(0)
        let failure = await failure { () async throws(KindFailure) in
            try await withLimit(
                left: {
                    if count.withLock({
                        $0 += 1
                        return $0
                    }) == 3 {
                        asked.open()
                        left.withLock { $0 = .zero }
                    }
                    return left.withLock(\.self)
                }, failure: .timeout("it", after: .zero, at: nil)
            ) { () async throws(KindFailure) in
                await asked.wait()
                // Returns when the task is cancelled.
                try? await Task.sleep(for: .seconds(600))
                throw .cancelled
            }
        }
        #expect(failure?.reason == .timeout)
    }

    /// Each hop of a chain would switch threads two more times if its work left the loop.
    @Test func workUnderALimitStaysOnTheLoopOfItsCaller() async throws {
        try await withClient { client in
            let executor = try #require(client.executor as? LoopExecutor)
            let stays = await Task(executorPreference: executor) {
                try? await withDeadline(.seconds(600), failure: .cancelled) { () async throws(KindFailure) in
                    await Task.yield()
                    return executor.loop.inEventLoop
                }
            }.value
            #expect(stays == true)
        }
    }

    @Test func workThatIsCancelledBeforeItBeginsLearnsOfIt() async {
        let ended = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { () async throws(KindFailure) in
                try await withDeadline(.seconds(600), failure: .timeout("it", after: .zero, at: nil)) {
                    () async throws(KindFailure) in
                    #expect(Task.isCancelled)
                    throw .cancelled
                }
            }
        }.value
        #expect(ended?.reason == .cancelled)
    }
}
