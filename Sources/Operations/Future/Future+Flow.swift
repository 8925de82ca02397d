import Dispatch
import Foundation
import OperationTypes
import Synchronization

extension Future {
    /// Starts the futures one after the other, each once the one before has succeeded. `subscribe` is called for every one
    /// right after it was created, also for one that fails.
    ///
    /// - Parameter futures: The first closure runs now, each other one on the thread that resolves the future before it.
    /// - Returns: Succeeds with the last of them; the first failure ends the row, and the rest is never created.
    @discardableResult
    public static func forEach(
        _ futures: sending [() -> Future], _ subscribe: @escaping @Sendable (Future) -> Void
    ) -> Future<Void, Error> {
        let target = Settlement<Void, Error>()
        let row = Row(futures, subscribe)
        var chain = Chain()
        row.advance(target, &chain)
        chain.fire()
        return Future<Void, Error>(target)
    }

    /// Futures that are created one after the other.
    ///
    /// SAFETY: The thread that resolves one creates the next: the closures never run two at a time, and each sees what the
    /// one before did.
    private final class Row: @unchecked Sendable {
        private let futures: [() -> Future]
        private let subscribe: @Sendable (Future) -> Void
        private let position = Mutex(0)

        init(_ futures: [() -> Future], _ subscribe: @escaping @Sendable (Future) -> Void) {
            self.futures = futures
            self.subscribe = subscribe
        }

        func advance(_ target: Settlement<Void, Error>, _ chain: inout Chain) {
            while true {
                let index = position.withLock { position in
                    defer { position += 1 }
                    return position
                }
                guard index < futures.count else { return target.settle(.success(()), &chain) }
                let future = futures[index]()
                subscribe(future)
                switch future.resultOrContinue(row: self, target) {
                case .failure(let error)?: return target.settle(.failure(error), &chain)
                case .success?: continue
                case nil: return
                }
            }
        }
    }

    /// The result if there is one; otherwise the row resumes when it comes.
    private func resultOrContinue(row: Row, _ target: Settlement<Void, Error>) -> Result? {
        guard case .shared(let settlement) = source else { return result }
        return settlement.add(
            Handler(target: target) { result, target, chain in
                let target = Settlement<Void, Error>.of(target)
                switch result {
                case .success: row.advance(target, &chain)
                case .failure(let error): target.settle(.failure(error), &chain)
                }
            })
    }

    /// Blocks this thread until the future is resolved.
    ///
    /// It ignores `observe(on:)`. The main thread does the work that waits for it meanwhile, so that waiting there for a
    /// transformation pinned to the main thread ends too. Waiting for a promise that is released unresolved never ends; that
    /// is reported on standard error.
    public func wait() -> Result {
        switch source {
        case .known(let result): result
        case .shared(let settlement): settlement.wait()
        }
    }
}

extension Settlement {
    fileprivate func wait() -> Result<Value, Failure> {
        let done = DispatchSemaphore(value: 0)
        let claim = Claim("A thread is blocked in wait()", of: Future<Value, Failure>.self)
        if let result = add(Handler(target: claim) { _, _, _ in done.signal() }) { return result }
        return MainInbox.wait(for: done) { result }
    }
}

extension Future where Value == Void, Error == Never {
    /// Succeeds on `queue`, not before `seconds` have passed.
    public static func after(seconds: TimeInterval, on queue: DispatchQueue = .global()) -> Future<Void, Never> {
        after(deadline: .now() + max(seconds, 0), queue)
    }

    /// Succeeds on `queue`, not before `interval` has passed.
    public static func after(
        _ interval: DispatchTimeInterval, on queue: DispatchQueue = .global()
    ) -> Future<Void, Never> {
        after(deadline: .now() + interval, queue)
    }

    private static func after(deadline: DispatchTime, _ queue: DispatchQueue) -> Future<Void, Never> {
        Future { promise in queue.asyncAfter(deadline: deadline) { promise.succeed(value: ()) } }
    }
}
