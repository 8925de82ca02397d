import Dispatch
import Foundation
import NetworkAdapters
import NetworkOperations
import Operations
import OperationsCompatibility
import Testing

// These are the documentation's examples, compiled and run. `DocumentationTests` compares the two.

enum ShoutError: CancellationFailure { case cancelled, nothingToSay }

enum LookupError: Error { case unknownName, abandoned }

struct Shout: TypedOperation {
    func run(_ input: String, context: OperationContext) async throws(ShoutError) -> String {
        if input.isEmpty { throw .nothingToSay }
        return input.uppercased() + "!"
    }
}

final class Countdown: AsyncResultOperation<Int, ShoutError>, @unchecked Sendable {
    override func main() {
        let countdown = Task { finish(with: .success(0)) }
        cancellation.register { countdown.cancel() }
    }
}

func length(of name: String) -> Future<Int, ShoutError> { Future(value: name.count) }

func count(_ name: String, _ completion: @escaping @Sendable (Result<Int, ShoutError>) -> Void) {
    DispatchQueue.global().async { completion(.success(name.count)) }
}

@Suite struct DocumentationExamples {
    @Test func awaiting() async throws {
        let shouted = try await Shout().value("ahoy")
        #expect(shouted == "AHOY!")

        let patient = Shout().retrying(
            RetryPolicy(
                tries: 3, delay: .exponential(initial: .milliseconds(50), multiplier: 2, cap: .seconds(1)),
                jitter: .full, failures: .any))
        let answer = try await patient.value("ahoy")
        #expect(answer == "AHOY!")

        let lookup = AdaptedOperation<String, Int, ShoutError> { (name, _) async throws(ShoutError) in
            name.count
        }
        let count = try await lookup.value("ahoy")
        #expect(count == 4)
    }

    @Test func futures() async throws {
        let future = Shout().future("ahoy")
            .map { $0.count }
            .flatMapError { _ in Future<Int, ShoutError>(value: 0) }
        let length = try await future.get()
        #expect(length == 5)

        let source = CancellationTokenSource()
        let cancellable = Shout().future("ahoy", cancellation: source.token)
        source.cancel()
        _ = await cancellable.materialize().get()

        let promise = Promise<Int, ShoutError>()
        let doubled = promise.future.map { $0 * 2 }
        promise.succeed(value: 21)
        #expect(doubled.value == 42)
    }

    @Test func queues() async throws {
        let first = Shout().operation("ahoy")
        let second = Shout().operation(missingInput: .nothingToSay)
        second.addDependency(supplyingInput: first)

        let queue = LinearOperationQueue()
        queue.maxConcurrentOperationCount = 4
        queue.addOperation(second)
        queue.addOperation(first)
        let loud = try await second.value()
        #expect(loud == "AHOY!!")

        let countdown = Countdown()
        queue.addOperation(countdown)
        let end = try await countdown.value()
        #expect(end == 0)
    }

    @Test func callbacks() async throws {
        let run = Shout().start("ahoy") { result in
            if case .success(let shouted) = result { print(shouted) }
        }
        run.cancel()

        let adapted = AdaptedOperation<String, Int, ShoutError>(callback: { name, context, completion in
            completion(.success(name.count))
        })
        let count = try await adapted.value("ahoy")
        #expect(count == 4)

        let lookup = AdaptedOperation<String, Int, LookupError>(missingResult: .abandoned) { name, _, completion in
            completion(.success(name.count))
        }
        let found = try await lookup.value("ahoy")
        #expect(found == 4)
    }

    @Test func combining() async throws {
        let shoutedLength = Shout().then { (text, _) async throws(ShoutError) in text.count }
        let limited = shoutedLength.timeout(after: .seconds(5), failure: .nothingToSay)
        let fastest = limited.racing(limited)
        let count = try await fastest.value("ahoy")
        #expect(count == 5)

        let quick = Shout().future("ahoy").timeout(after: .seconds(5), failure: .nothingToSay)
        let firstSuccess = Future.any(quick, Shout().future(""))
        let logged = firstSuccess.finally { print("done") }
        let text = try await logged.get()
        #expect(text == "AHOY!")

        let winner = Future<String, ShoutError>.race(
            { token in Shout().future("ahoy", cancellation: token) },
            { token in Shout().future("hello", cancellation: token) })
        _ = try await winner.get()

        let clock = ManualClock()
        let policy = RetryPolicy(tries: 2, delay: .constant(.seconds(60)), failures: .any)
        let retried = Future<String, ShoutError>.retry(policy, clock: clock) { Shout().future("") }
        await clock.sleepers(1)
        clock.advance(by: .seconds(60))
        await #expect(throws: ShoutError.nothingToSay) { try await retried.get() }
    }

    @Test func cancelling() async throws {
        let stop = CancellationTokenSource()
        let part = CancellationTokenSource(linkedTo: stop.token)
        part.token.register { print("stopping") }
        stop.cancel()
        try await part.token.cancelled()

        let pause = Future.after(.seconds(60), cancellation: stop.token)
        await #expect(throws: CancellationError.self) { try await pause.get() }
    }

    @Test func blocks() {
        let chain = Async.userInitiated { 20 }
            .background { $0 + 1 }
            .utility(after: 0.01) { $0 * 2 }
            .catch { error in print("failed: \(error)") }
        chain.wait()
        #expect(chain.output == 42)
    }

    @Test func migrating() async throws {
        let measuring = AdaptedOperation<String, Int, ShoutError>(future: { name, _ in length(of: name) })

        measuring.future("ahoy").on { print($0) }
        measuring.start("ahoy") { print($0) }
        let measured = try await measuring.value("ahoy")
        #expect(measured == 4)

        let awaited = try await length(of: "ahoy").get()
        #expect(awaited == 4)

        let future = Future<String, ShoutError>.task { () async throws(ShoutError) in
            try await Shout().value("ahoy")
        }
        #expect(try await future.get() == "AHOY!")

        let counting = AdaptedOperation<String, Int, ShoutError>(callback: { name, _, completion in
            count(name, completion)
        })
        let counted = try await counting.value("ahoy")
        #expect(counted == 4)
    }

    @Test func network() async throws {
        try await TestServer.with { _ in
            .json(#"{"id": 1, "name": "Ada"}"#)
        } _: { server in
            let base = server.base
            let users = AsyncAwaitUserService(
                network: CallbackToAsyncAwaitAdapter(service: CallbackNetworkService()), base: base)
            let ada = try await users.getUser(id: 1)
            #expect(ada.name == "Ada")

            await Task.detached { self.chain(base) }.value
        }
    }

    private func chain(_ base: URL) {
        let unfurl = UnfurlURLChainedOperation(shortURL: base)
        let title = FetchTitleChainedOperation()
        title.addDependency(unfurl)
        OperationQueue().addOperations([unfurl, title], waitUntilFinished: true)
        // The shared client can reach public addresses only.
        #expect(title.result?.failure != nil)
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
