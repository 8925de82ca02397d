import Synchronization
import Testing

@testable import OperationTypes

@Suite struct CancellationTests {
    @Test func closuresRunOnceInOrderOfRegistrationOnTheCancellingThread() {
        let source = CancellationTokenSource()
        var calls: [Int] = []
        source.token.register { calls.append(1) }
        source.token.register { calls.append(2) }
        #expect(!source.isCancelling)
        source.cancel()
        source.cancel()
        #expect(calls == [1, 2])
        #expect(source.isCancelling && source.token.isCancelling)
    }

    /// Defect 24: it used to run later, on main, or never.
    @Test func registeringAfterCancellationRunsAtOnceOnAnyThread() async {
        let source = CancellationTokenSource()
        await Task.detached { source.cancel() }.value
        let isInline = await Task.detached {
            var isInline = false
            source.token.register { isInline = true }
            return isInline
        }.value
        #expect(isInline)
    }

    @Test func registeringAndCancellingInsideAClosure() {
        let source = CancellationTokenSource()
        var calls: [String] = []
        source.token.register {
            calls.append("outer")
            source.cancel()
            source.token.register { calls.append("nested") }
        }
        source.token.register { calls.append("next") }
        source.cancel()
        #expect(calls == ["outer", "nested", "next"])
    }

    @Test func takenBackInsideAClosureTheNextOneDoesNotRun() {
        let source = CancellationTokenSource()
        var calls: [Int] = []
        var registrations: [CancellationRegistration] = []
        source.token.register {
            calls.append(0)
            for registration in registrations.prefix(20) { registration.unregister() }
        }
        for number in 1...25 { registrations.append(source.token.register { calls.append(number) }) }
        source.cancel()
        #expect(calls == [0, 21, 22, 23, 24, 25])
        #expect(source.token.state!.capacityInUse == 0)
    }

    @Test func noneNeverCancelsAndDropsItsClosures() {
        weak var canary: Canary?
        do {
            let object = Canary()
            canary = object
            CancellationToken.none.register { _ = object }
        }
        #expect(canary == nil)
        #expect(!CancellationToken.none.isCancelling)
        #expect(!CancellationToken.none.canCancel)
    }

    @Test func closuresAreReleasedOnCancel() {
        let source = CancellationTokenSource()
        weak var canary: Canary?
        do {
            let object = Canary()
            canary = object
            source.token.register { _ = object }
        }
        #expect(canary != nil)
        source.cancel()
        #expect(canary == nil)
    }

    /// Defect 24: tokens used to keep the closures of a source that nobody could cancel any more.
    @Test func closuresAreReleasedWithTheSource() {
        weak var canary: Canary?
        var source: CancellationTokenSource? = CancellationTokenSource()
        let token = source!.token
        do {
            let object = Canary()
            canary = object
            token.register { _ = object }
        }
        #expect(canary != nil)
        source = nil
        #expect(canary == nil)
        token.register { Issue.record("nobody can cancel") }
        #expect(!token.isCancelling)
    }

    /// Defect 24: registrations used to grow without bound.
    @Test func takenBackRegistrationsNeitherRunNorTakeMemory() {
        let source = CancellationTokenSource()
        var calls: [Int] = []
        let first = source.token.register { calls.append(1) }
        source.token.register { calls.append(2) }
        for _ in 0..<100_000 { source.token.register { calls.append(3) }.unregister() }
        first.unregister()
        first.unregister()
        #expect(source.token.state!.capacityInUse < 10)
        source.cancel()
        #expect(calls == [2])
        first.unregister()
    }

    @Test func takingBackInAnyOrderLeavesTheRest() {
        let source = CancellationTokenSource()
        var calls: [Int] = []
        let registrations = (0..<1000).map { number in source.token.register { calls.append(number) } }
        for (number, registration) in registrations.enumerated() where number % 3 != 0 { registration.unregister() }
        source.cancel()
        #expect(calls == Array(stride(from: 0, to: 1000, by: 3)))
    }

    @Test func eachClosureRunsOnceUnderConcurrency() async {
        for _ in 0..<50 {
            let source = CancellationTokenSource()
            let runs = Counter()
            await withTaskGroup { group in
                for index in 0..<8 {
                    group.addTask {
                        if index == 4 { source.cancel() }
                        source.token.register { runs.add() }
                    }
                }
            }
            source.cancel()
            #expect(runs.count == 8)
        }
    }

    private final class Canary: Sendable {}

    private final class Counter: Sendable {
        private let number = Atomic(0)
        func add() { number.add(1, ordering: .relaxed) }
        var count: Int { number.load(ordering: .relaxed) }
    }
}
