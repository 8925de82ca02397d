import Dispatch
import Foundation
import OperationTypes
import Synchronization

extension Future {
    /// Starts the futures one after the other, each after the previous one has succeeded. `subscribe` is called with
    /// every future right after its creation, even if the future then fails.
    ///
    /// - Parameter futures: The first closure runs now, every other one on the thread that resolves the previous
    ///   future.
    /// - Returns: A future that succeeds when the last one succeeds. It fails with the first failure, and the remaining
    ///   futures are then never created.
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
    /// SAFETY: The thread that resolves a future creates the next one, so no two closures run at the same time, and
    /// each sees the effects of the previous one.
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

    /// Returns the result if it is known. Otherwise the row continues when the future is resolved.
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
    /// The wait ignores `observe(on:)`. While the main thread waits, it runs the work that is scheduled for it, so it
    /// can also wait for a transformation that is pinned to the main thread. If the promise is released unresolved, the
    /// wait never ends, and a message is printed on standard error.
    public func wait() -> Result {
        switch source {
        case .known(let result): result
        case .shared(let settlement): settlement.wait()
        }
    }
}

extension Settlement {
    fileprivate func wait() -> Result<Value, Failure> {
        if let result { return result }
        let thread = BlockedThread(for: Future<Value, Failure>.self)
        // SAFETY: A handler calls this with the target that it was created with.
        let handler = Handler<Value, Failure>(target: thread) { _, target, _ in
            unsafeDowncast(target, to: BlockedThread.self).done.signal()
        }
        if let result = add(handler) { return result }
        return MainInbox.wait(for: thread.done) { result }
    }
}

/// A thread that waits for a future.
private final class BlockedThread: PromiseDependent {
    let done = DispatchSemaphore(value: 0)
    private let future: Any.Type

    init(for future: Any.Type) { self.future = future }

    func promiseBroke(_ broken: inout BrokenPromise) {
        MisuseReport.report("A thread is blocked in wait()", of: "\(future)")
    }
}

extension Future where Value == Void, Error == Never {
    /// A future that succeeds on `queue`, not before `seconds` have passed. A negative number counts as 0.
    public static func after(seconds: TimeInterval, on queue: DispatchQueue = .global()) -> Future<Void, Never> {
        after(deadline: .now() + max(seconds, 0), queue)
    }

    /// A future that succeeds on `queue`, not before `interval` has passed.
    public static func after(
        _ interval: DispatchTimeInterval, on queue: DispatchQueue = .global()
    ) -> Future<Void, Never> {
        after(deadline: .now() + interval, queue)
    }

    private static func after(deadline: DispatchTime, _ queue: DispatchQueue) -> Future<Void, Never> {
        Future { promise in queue.asyncAfter(deadline: deadline) { promise.succeed(value: ()) } }
    }
}
