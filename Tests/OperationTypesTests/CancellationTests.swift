import Signals
import Synchronization
import Testing

@testable import OperationTypes

@Suite struct CancellationTests {
    @Test func closuresRunOnceInOrderOfRegistrationOnTheCancellingThread() {
        let source = CancellationTokenSource()
        let calls = Shared<[Int]>([])
        source.token.register { calls.value.append(1) }
        source.token.register { calls.value.append(2) }
        #expect(!source.isCancelling)
        source.cancel()
        source.cancel()
        #expect(calls.value == [1, 2])
        #expect(source.isCancelling && source.token.isCancelling)
    }

    /// Defect 24: the closure used to run later, on the main thread, or never.
    @Test func registeringAfterCancellationRunsAtOnceOnAnyThread() async {
        let source = CancellationTokenSource()
        await Task.detached { source.cancel() }.value
        let isInline = await Task.detached {
            let isInline = Shared(false)
            source.token.register { isInline.value = true }
            return isInline.value
        }.value
        #expect(isInline)
    }

    @Test func registeringAndCancellingInsideAClosure() {
        let source = CancellationTokenSource()
        let calls = Shared<[String]>([])
        source.token.register {
            calls.value.append("outer")
            source.cancel()
            source.token.register { calls.value.append("nested") }
        }
        source.token.register { calls.value.append("next") }
        source.cancel()
        #expect(calls.value == ["outer", "nested", "next"])
    }

    @Test func takenBackInsideAClosureTheNextOneDoesNotRun() {
        let source = CancellationTokenSource()
        let calls = Shared<[Int]>([])
        let registrations = Shared<[CancellationRegistration]>([])
        source.token.register {
            calls.value.append(0)
            for registration in registrations.value.prefix(20) { registration.unregister() }
        }
        for number in 1...25 { registrations.value.append(source.token.register { calls.value.append(number) }) }
        source.cancel()
        #expect(calls.value == [0, 21, 22, 23, 24, 25])
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

    /// Each linked source used to take stack frames.
    @Test func linkedSourcesCancelWithoutRecursion() {
        let sources = (0..<100_000).map { _ in CancellationTokenSource() }
        for (source, next) in zip(sources, sources.dropFirst()) { source.token.register { next.cancel() } }
        sources.first?.cancel()
        #expect(sources.filter(\.isCancelling).count == sources.count)
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

    /// Defect 24: tokens used to keep the closures of a source that had been released.
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

    /// Defect 24: the list of registrations used to grow without bound.
    @Test func takenBackRegistrationsNeitherRunNorTakeMemory() {
        let source = CancellationTokenSource()
        let calls = Shared<[Int]>([])
        let first = source.token.register { calls.value.append(1) }
        source.token.register { calls.value.append(2) }
        for _ in 0..<100_000 { source.token.register { calls.value.append(3) }.unregister() }
        first.unregister()
        first.unregister()
        #expect(source.token.state!.capacityInUse < 10)
        source.cancel()
        #expect(calls.value == [2])
        first.unregister()
    }

    @Test func takingBackInAnyOrderLeavesTheRest() {
        let source = CancellationTokenSource()
        let calls = Shared<[Int]>([])
        let registrations = (0..<1000).map { number in source.token.register { calls.value.append(number) } }
        for (number, registration) in registrations.enumerated() where number % 3 != 0 { registration.unregister() }
        source.cancel()
        #expect(calls.value == Array(stride(from: 0, to: 1000, by: 3)))
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

@Suite struct LinkedTokenTests {
    @Test func aLinkedSourceCancelsWithAnyOfItsTokens() {
        let parents = [CancellationTokenSource(), CancellationTokenSource()]
        let child = CancellationTokenSource(linkedTo: parents[0].token, parents[1].token, .none)
        let calls = Shared(0)
        child.token.register { calls.value += 1 }
        parents[1].cancel()
        parents[0].cancel()
        #expect(child.isCancelling && calls.value == 1)
        #expect(CancellationTokenSource(linkedTo: parents[0].token).isCancelling)
        let own = CancellationTokenSource(linkedTo: CancellationTokenSource().token)
        own.cancel()
        #expect(own.isCancelling)
    }

    @Test func aReleasedLinkedSourceLeavesNothingInItsTokens() {
        let parent = CancellationTokenSource()
        for _ in 0..<1000 { _ = CancellationTokenSource(linkedTo: parent.token) }
        #expect(parent.token.state!.capacityInUse < 10)
    }

    @Test func aTokenCanBeAwaited() async throws {
        let source = CancellationTokenSource()
        async let cancelled: Void = source.token.cancelled()
        source.cancel()
        try await cancelled
        try await source.token.cancelled()
        let waiting = Task { try await CancellationToken.none.cancelled() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
