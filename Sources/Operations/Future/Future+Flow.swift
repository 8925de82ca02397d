import Dispatch
import Foundation
import OperationTypes
import Synchronization

extension Future {
    /// Starts the futures one after the other, each once the one before has succeeded. `subscribe` is called for every one
    /// right after it was made, also for one that fails.
    ///
    /// - Returns: Succeeds with the last of them; the first failure ends the row, and the rest is never made.
    @discardableResult
    public static func forEach(
        _ futures: [() -> Future], _ subscribe: @escaping (Future) -> Void
    ) -> Future<Void, Error> {
        let target = Future<Void, Error>.Promise()
        let row = Row(futures, subscribe)
        var chain = Chain()
        row.advance(target, &chain)
        chain.fire()
        return Future<Void, Error>(target)
    }

    /// Futures that are made one after the other. Whoever resolves one makes the next: never two at a time.
    private final class Row {
        private let futures: [() -> Future]
        private let subscribe: (Future) -> Void
        private let position = Mutex(0)

        init(_ futures: [() -> Future], _ subscribe: @escaping (Future) -> Void) {
            self.futures = futures
            self.subscribe = subscribe
        }

        func advance(_ target: Future<Void, Error>.Promise, _ chain: inout Chain) {
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

    /// The result if there is one; otherwise the row goes on when it comes.
    private func resultOrContinue(row: Row, _ target: Future<Void, Error>.Promise) -> Result? {
        guard case .promised(let promise) = source else { return result }
        return promise.add(
            Handler(target: target) { result, target, chain in
                let target = Future<Void, Error>.Promise.of(target)
                switch result {
                case .success: row.advance(target, &chain)
                case .failure(let error): target.settle(.failure(error), &chain)
                }
            })
    }

    /// Blocks this thread until the future is resolved.
    ///
    /// It ignores `observe(on:)`. The main thread does the work that waits for it meanwhile, so that waiting there for a
    /// transformation pinned to the main thread ends too.
    public func wait() -> Result {
        switch source {
        case .known(let result): result
        case .promised(let promise): promise.wait()
        }
    }
}

extension Future.Promise {
    fileprivate func wait() -> Future.Result {
        let done = DispatchSemaphore(value: 0)
        if let result = add(Handler(target: done) { _, _, _ in done.signal() }) { return result }
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
        let promise = Promise()
        queue.asyncAfter(deadline: deadline) { promise.succeed(value: ()) }
        return Future(promise)
    }
}
