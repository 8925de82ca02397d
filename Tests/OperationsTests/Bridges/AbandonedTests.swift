import Dispatch
import Foundation
import Operations
import Signals
import Testing

/// Waits for results that never arrive, because the promise was released or the callback is never called. Each wait
/// used to last forever, even after cancellation.
@Suite struct AbandonedTests {
    private func abandoned<E>(_: E.Type = E.self) -> Future<Int, E> { Promise<Int, E>().future }

    @Test func cancellingTheTaskEndsItsWaitForAReleasedPromise() async throws {
        let plain = Task { try await self.abandoned(PlainError.self).get() }
        let never = Task { await self.abandoned(Never.self).get() }
        let word = Task { try await self.abandoned(WorkError.self).get() }
        let any = Task { try await self.abandoned((any Error).self).get() }
        plain.cancel()
        never.cancel()
        word.cancel()
        any.cancel()
        #expect(try await plain.value == nil)
        #expect(await never.value == nil)
        await #expect(throws: WorkError.cancelled) { try await word.value }
        await #expect(throws: CancellationError.self) { try await any.value }
    }

    @Test func cancellingTheTaskEndsItsWaitForAPendingPromise() async throws {
        let promise = Promise<Int, PlainError>()
        let source = CancellationTokenSource()
        let tasks = [
            Task { try await promise.future.get() }, Task { try await promise.future.get(cancelling: source) },
            Task { try await promise.future.map { $0 + 1 }.get() },
        ]
        for task in tasks { task.cancel() }
        for task in tasks { #expect(try await task.value == nil) }
        #expect(source.isCancelling)
        promise.succeed(value: 1)
        #expect(try await promise.future.get() == 1)
    }

    /// The promise stores the first waiting task directly, and further ones in handlers.
    @Test func everyTaskThatWaitsForAPromiseIsServed() async throws {
        for _ in 0..<200 {
            let promise = Promise<Int, PlainError>()
            let tasks = (0..<6).map { _ in Task { try await promise.future.get() } }
            let early = Task { try await promise.future.get() }
            early.cancel()
            #expect(try await early.value == nil)
            let late = Task { try await promise.future.get() }
            promise.succeed(value: 1)
            for task in tasks + [late] { #expect(try await task.value == 1) }
        }
    }

    @Test func cancellingEndsTheWaitForACallbackThatNeverComes() async {
        let forgetful = AdaptedOperation<Void, Int, PlainError>(missingResult: .noResult) { _, _, _ in }
        let task = Task { try await forgetful.value(()) }
        task.cancel()
        await #expect(throws: PlainError.noResult) { try await task.value }

        let source = CancellationTokenSource()
        let word = AdaptedOperation<Void, Int, WorkError>(callback: { _, _, _ in })
        let ended = Signal()
        word.start((), cancellation: source.token) { result in
            if result == .failure(.cancelled) { ended.send() }
        }
        source.cancel()
        #expect(await ended.wait())
    }

    @Test func waitsThatAreCancelledWhileTheResultComesEndOnce() async throws {
        for _ in 0..<500 {
            let promise = Promise<Int, PlainError>()
            let task = Task { try await promise.future.get() }
            await withTaskGroup { group in
                group.addTask { promise.succeed(value: 1) }
                group.addTask { task.cancel() }
            }
            let value = try await task.value
            #expect(value == nil || value == 1)
        }
    }

    @Test func aReleasedPromiseReleasesWaitingClosuresAlthoughTheFutureIsKept() {
        let gone = Shared(false)
        let future: Future<Int, Failed>
        let derived: Future<Int, Failed>
        do {
            let promise = Promise<Int, Failed>()
            future = promise.future
            let canary = Canary { gone.value = true }
            derived = future.map { value in
                canary.touch()
                return value
            }
            derived.on { _ in canary.touch() }
        }
        #expect(gone.value)
        #expect(future.result == nil && derived.result == nil)
        derived.on { _ in Issue.record("nothing can resolve this") }
    }

    @Test func oneOfManySourcesMayBeAbandoned() {
        let good = Promise<Int, Failed>()
        let first = Future.first(abandoned(Failed.self), good.future)
        let pair = Future.zip(abandoned(Failed.self), good.future)
        let all = Future.zip([good.future, abandoned(Failed.self)])
        let flat = good.future.flatMap { _ in self.abandoned(Failed.self) }
        good.succeed(value: 1)
        #expect(first.value == 1)
        #expect(pair.result == nil && all.result == nil && flat.result == nil)
        let bad = Promise<Int, Failed>()
        let failing = Future.zip([abandoned(Failed.self), bad.future])
        bad.fail(error: Failed(2))
        #expect(failing.error == Failed(2))
    }

    /// The leak is reported as by `CheckedContinuation`. The tests read the standard error of separate processes.
    @Test func aTaskThatWaitsForAReleasedPromiseIsReported() async {
        await #expect(processExitsWith: .success) { await reportsLeak { $0.future } }
        await #expect(processExitsWith: .success) {
            await reportsLeak { $0.future.map { $0 + 1 }.flatMap { Future<Int, Failed>(value: $0) } }
        }
        await #expect(processExitsWith: .success) {
            await reportsLeak { Future.zip([$0.future, Future(value: 1)]).map { $0[0] } }
        }
    }

    @Test func aTaskThatWaitsBesideAnotherIsReported() async {
        await #expect(processExitsWith: .success) {
            let report = Report()
            var promise: Promise<Int, Failed>? = Promise()
            guard let future = promise?.future else { return }
            let first = Task { try await future.get() }
            first.cancel()
            _ = await first.result
            let second = Task { try await future.get() }
            promise = nil
            let text = await report.text()
            precondition(text.contains("A task waits until it is cancelled: Future<Int, Failed>"), text)
            second.cancel()
            _ = await second.result
        }
    }

    @Test func aRunWhoseCallbackIsForgottenIsReported() async {
        await #expect(processExitsWith: .success) {
            let report = Report()
            let forgetful = AdaptedOperation<Void, Int, PlainError>(missingResult: .noResult) { _, _, _ in }
            let task = Task { try await forgetful.value(()) }
            let text = await report.text()
            precondition(text.contains("a promise was released without a result"))
            task.cancel()
            _ = await task.result
        }
    }
}

/// Checks that releasing a promise is reported while a task waits for a future derived from it.
private func reportsLeak(_ derive: (Promise<Int, Failed>) -> Future<Int, Failed>) async {
    let report = Report()
    var promise: Promise<Int, Failed>? = Promise()
    guard let future = promise.map(derive) else { return }
    let task = Task { try await future.get() }
    promise = nil
    let text = await report.text()
    precondition(text.contains("a promise was released without a result"))
    task.cancel()
    _ = await task.result
}

/// Reads the next text that this process writes to its standard error.
private struct Report {
    /// The pipe stays open, because the process may write more later.
    private static let pipe = Pipe()

    init() { dup2(Self.pipe.fileHandleForWriting.fileDescriptor, STDERR_FILENO) }

    func text() async -> String {
        await onThread { String(decoding: Self.pipe.fileHandleForReading.availableData, as: UTF8.self) }
    }
}
