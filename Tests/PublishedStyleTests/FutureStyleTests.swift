import Dispatch
import Foundation
import OperationsCompatibility
import Testing

// Code as it is written for the published libraries, in Swift 5 language mode: it has to compile with nothing but the import
// changed.

private enum MyError: Error, Equatable { case e1, e2 }

private final class ViewModel {
    var title = ""
    var isLoading = true
    var errors: [MyError] = []
    let cancellation = CancellationTokenSource()

    func load() {
        let user = Future<Int, MyError>(value: 12)
        user.map { "user \($0)" }
            .on(
                success: { self.title = $0 },
                failure: { [weak self] in self?.errors.append($0) },
                completion: { self.isLoading = false })
        cancellation.token.register(stop)
        cancellation.token.register { [weak self] in self?.title = "cancelled" }
    }

    func stop() { isLoading = false }
}

@Suite struct FutureStyleTests {
    @Test @MainActor func plainClosuresAndMutableState() {
        let model = ViewModel()
        model.load()
        #expect(model.title == "user 12")
        #expect(!model.isLoading)
        model.cancellation.cancel()
        #expect(model.title == "cancelled")
    }

    @Test @MainActor func everyWayToMakeAndCombine() {
        var called = 0
        let promise = Promise<Int, MyError>()
        let future = promise.future
        future.on { called += $0 }
        future.on(success: { _ in called += 1 }, completion: { called += 1 })
        future.on(failure: { _ in called = -1 })
        promise.succeed(value: 3)
        #expect(called == 5)

        let made = Future<Int, MyError> { promise in
            promise.succeed(value: 1)
        }
        let thrown = Future<Int, Error> { throw MyError.e1 }
        let plain = Future(value: 1)
        let _: Future<Int, Never> = plain
        #expect(thrown.error as? MyError == .e1)

        Future.zip(made, future).on(success: { a, b in called = a + b })
        #expect(called == 4)
        Future.zip([made, future]).on { called = $0.count }
        #expect(called == 2)
        Future.reduce(0, [made, future], +).on { called = $0 }
        #expect(called == 4)
        Future.first(made, future).on { called = $0 }
        #expect(called == 1)
        Future.forEach([{ made }, { future }]) { $0.on { called += $0 } }
        #expect(called == 5)
        #expect(made.flatMap { _ in plain }.mapError { $0 }.value == 1)
        #expect(plain.castError(MyError.self).flatMap { _ in made }.value == 1)
        #expect(thrown.tryMap { $0 + 1 }.result.map { _ in true } == true)
        #expect(made.asVoid().materialize().wait().map { _ in true } == .success(true))
        _ = Future.after(seconds: 0.001).map { 1 }
        _ = Future.after(.milliseconds(1), on: .global())
        _ = Future.retry(attempts: 2, delay: .seconds(0.001), { made })
        _ = Future.retry(attempts: 2, delay: .exponential(initial: 1, multiplier: 2, maxDelay: 3)) { made }
        _ = made.observe(on: DispatchQueue.global()).observe(on: Scheduler.immediate)
        Scheduler.default = Scheduler.main
    }
}

@Suite struct AsyncStyleTests {
    @Test func chainsAndGroups() {
        var order: [Int] = []
        let block = Async.userInitiated {
            order.append(1)
            return 10
        }.background { (value: Int) -> String in
            order.append(2)
            return "\(value)"
        }.utility(after: 0.001) {
            order.append(3)
            _ = $0
        }
        block.catch { print($0) }
        #expect(block.wait() == .success)
        #expect(order == [1, 2, 3])
        Async.background {}.cancel()

        let group = AsyncGroup()
        group.background { order.append(4) }
        group.wait()
        group.enter()
        group.leave()
        #expect(group.wait(seconds: 1) == .success)
        Apply.background(3) { _ in }
        Apply.custom(queue: .global(), iterations: 2) { _ in }
        #expect(DispatchQoS.QoSClass.background.description == "Background")
    }
}

// Defect 8: the published pieces did not compile together, nor could their classes be inherited from elsewhere.

private final class Download: AsyncOperation {
    private let url: URL
    private var isDone = false
    init(url: URL) { self.url = url }

    override func main() {
        DispatchQueue.global().async {
            self.isDone = true
            self.finish()
        }
    }

    override func cancel() {
        isDone = false
        super.cancel()
    }
}

private final class Resolve: AsyncResultOperation<URL, Resolve.Error> {
    enum Error: Swift.Error { case canceled, missing }
    private let url: URL
    private var isRunning = false
    init(url: URL) { self.url = url }

    override func main() {
        isRunning = true
        DispatchQueue.global().async { self.finish(with: .success(self.url)) }
    }

    override func cancel() {
        isRunning = false
        cancel(with: .canceled)
    }
}

private final class Title: ChainedAsyncResultOperation<URL, String, Title.Error> {
    enum Error: Swift.Error { case missingInputURL }

    override func main() {
        guard let input = input else { return finish(with: .failure(.missingInputURL)) }
        finish(with: .success(input.lastPathComponent))
    }
}

@Suite struct OperationStyleTests {
    @Test func operationsOnAQueue() throws {
        let url = try #require(URL(string: "https://example.org/page"))
        let queue = OperationQueue()
        let download = Download(url: url)
        let resolve = Resolve(url: url)
        let title = Title()
        title.addDependency(resolve)
        resolve.addDependency(download)
        queue.addOperations([download, resolve, title], waitUntilFinished: true)
        #expect(try title.result?.get() == "page")
        #expect((title as ChainedOperationOutputProviding).output as? String == "page")
        let cancelled = Resolve(url: url)
        cancelled.onResult = { result in
            if case .failure(.canceled) = result { return }
            Issue.record("\(result)")
        }
        cancelled.cancel()
        queue.addOperations([cancelled], waitUntilFinished: true)
    }
}
