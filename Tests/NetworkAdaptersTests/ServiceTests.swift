import Dispatch
import Foundation
import NetworkAdapters
import OpenCombine
import Operations
import Signals
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A service in one of the three styles, or one style adapted to another, as a function.
struct Way: Sendable, CustomStringConvertible {
    let description: String
    let user: @Sendable (URL, Int, CancellationTokenSource) async -> Result<User, any Error>

    init(_ description: String, _ network: any CallbackNetwork) {
        self.description = description
        user = { base, id, source in
            await withCheckedContinuation { continuation in
                let request = CallbackUserService(network: network, base: base).getUser(id: id) {
                    continuation.resume(returning: $0)
                }
                source.token.register { request.cancel() }
            }
        }
    }

    init(_ description: String, _ network: any CombineNetwork) {
        self.description = description
        user = { base, id, source in
            let publisher = CombineUserService(network: network, base: base).getUser(id: id)
            return await withCheckedContinuation { continuation in
                let events = Events<User>(continuation)
                publisher.subscribe(events)
                source.token.register { events.cancel() }
            }
        }
    }

    init(_ description: String, _ network: any AsyncAwaitNetwork) {
        self.description = description
        user = { base, id, source in
            let task = Task { try await AsyncAwaitUserService(network: network, base: base).getUser(id: id) }
            source.token.register { task.cancel() }
            return await task.result
        }
    }

    static let callback = CallbackNetworkService()
    static let combine = CombineNetworkService()
    static let awaited = AsyncAwaitNetworkService()

    static let all: [Way] = [
        Way("callback", callback), Way("combine", combine), Way("async", awaited),
        Way("callback to callback", CallbackToCallbackAdapter(service: callback)),
        Way("callback to combine", CallbackToCombineAdapter(service: callback)),
        Way("callback to async", CallbackToAsyncAwaitAdapter(service: callback)),
        Way("combine to callback", CombineToCallbackAdapter(service: combine)),
        Way("combine to combine", CombineToCombineAdapter(service: combine)),
        Way("combine to async", CombineToAsyncAwaitAdapter(service: combine)),
        Way("async to callback", AsyncAwaitToCallbackAdapter(service: awaited)),
        Way("async to combine", AsyncAwaitToCombineAdapter(service: awaited)),
        Way("async to async", AsyncAwaitToAsyncAwaitAdapter(service: awaited)),
        Way(
            "round trip",
            AsyncAwaitToCallbackAdapter(
                service: CombineToAsyncAwaitAdapter(service: CallbackToCombineAdapter(service: callback)))),
    ]
}

/// Collects a publisher's events and returns the first one.
final class Events<Input: Sendable>: Subscriber, Cancellable, Sendable {
    typealias Failure = any Error

    private struct State: @unchecked Sendable {
        var subscription: (any Subscription)?
        var answer: CheckedContinuation<Result<Input, any Error>, Never>?
        var values: [Input] = []
        var completions = 0
    }

    private let state: Mutex<State>
    var values: [Input] { state.withLock { $0.values } }
    var completions: Int { state.withLock { $0.completions } }

    init(_ answer: CheckedContinuation<Result<Input, any Error>, Never>? = nil) {
        state = Mutex(State(answer: answer))
    }

    func receive(subscription: any Subscription) {
        nonisolated(unsafe) let subscription = subscription
        state.withLock { $0.subscription = subscription }
        subscription.request(.unlimited)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        state.withLock { $0.values.append(input) }
        end(with: .success(input))
        return .none
    }

    func receive(completion: Subscribers.Completion<any Error>) {
        state.withLock { $0.completions += 1 }
        if case .failure(let error) = completion { end(with: .failure(error)) }
    }

    func cancel() {
        let subscription = state.withLock { state in state.subscription.take().map { Sent(subscription: $0) } }
        subscription?.subscription.cancel()
        end(with: .failure(CancellationError()))
    }

    private struct Sent: @unchecked Sendable { let subscription: any Subscription }

    private func end(with result: Result<Input, any Error>) {
        state.withLock { $0.answer.take() }?.resume(returning: result)
    }
}

@Suite struct ServiceTests {
    @Test(arguments: Way.all) func userArrives(way: Way) async throws {
        try await TestServer.with { _ in
            .json(#"{"id": 7, "name": "Ada"}"#)
        } _: { server in
            let result = await way.user(server.base, 7, CancellationTokenSource())
            let user = try result.get()
            #expect(user == User(id: 7, name: "Ada"))
            #expect(server.requests.map(\.path) == ["/users/7"])
        }
    }

    /// Defect 39: everything except the status used to be lost or force-unwrapped.
    @Test(arguments: Way.all) func failuresAreToldApart(way: Way) async throws {
        func error(_ answer: TestServer.Answer) async throws -> any Error {
            try await TestServer.with { _ in
                answer
            } _: { server in
                switch await way.user(server.base, 1, CancellationTokenSource()) {
                case .success(let user): throw Unexpected(user: user)
                case .failure(let error): error
                }
            }
        }
        guard case NetworkError.transport = try await error(.hangUp) else { throw Unexpected() }
        guard case NetworkError.status(503, let body) = try await error(.json("busy", status: 503)) else {
            throw Unexpected()
        }
        #expect(body == Data("busy".utf8))
        guard case NetworkError.noData = try await error(.respond(200)) else { throw Unexpected() }
        guard case NetworkError.decoding = try await error(.json(#"{"id": "seven"}"#)) else { throw Unexpected() }
        guard case NetworkError.decoding = try await error(.json("not json")) else { throw Unexpected() }
    }

    private struct Unexpected: Error { var user: User? }

    /// Defect 37: no adapter used to pass cancellation on; now it closes the connection.
    @Test(arguments: Way.all) func cancellationReachesTheServer(way: Way) async throws {
        try await TestServer.with { _ in
            .silence
        } _: { server in
            let source = CancellationTokenSource()
            async let result = way.user(server.base, 1, source)
            #expect(await server.silenced.wait())
            source.cancel()
            #expect(await server.abandoned.wait())
            let ended = await result
            #expect(throws: (any Error).self) { try ended.get() }
        }
    }

    /// Defects 22 and 40: the cache of `URLSession.shared` could end the process on Linux when a request was cancelled,
    /// and the session's own async functions hang.
    @Test func manyRequestsAreCancelledAtAnyMoment() async throws {
        try await TestServer.with { _ in
            .json(#"{"id": 1, "name": "Ada"}"#)
        } _: { server in
            let services: [any AsyncAwaitNetwork] = [
                AsyncAwaitNetworkService(session: .shared),
                CallbackToAsyncAwaitAdapter(service: CallbackNetworkService(session: .shared)),
                CombineToAsyncAwaitAdapter(service: CombineNetworkService(session: .shared)),
            ]
            for service in services {
                for _ in 0..<100 {
                    let task = Task { try await service.get(url: server.base) as User }
                    DispatchQueue.global().async { task.cancel() }
                    _ = await task.result
                }
            }
        }
    }

    /// Defect 38: the work used to run on the caller's actor.
    @Test @MainActor func callerOnTheMainActorIsNotWhereTheWorkRuns() async throws {
        struct Probe: AsyncAwaitNetwork {
            func get<T: Decodable>(url: URL) async throws -> T {
                dispatchPrecondition(condition: .notOnQueue(.main))
                throw NetworkError.noData
            }
        }
        let result = await withCheckedContinuation { continuation in
            AsyncAwaitToCallbackAdapter(service: Probe()).get(url: URL(fileURLWithPath: "/")) {
                (result: Result<Int, any Error>) in
                dispatchPrecondition(condition: .notOnQueue(.main))
                continuation.resume(returning: result)
            }
        }
        #expect(throws: NetworkError.self) { try result.get() }
    }

    @Test func cancelledBeforeItBeginsItMakesNoRequest() async throws {
        try await TestServer.with { _ in
            .json("1")
        } _: { server in
            let url = server.base
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await AsyncAwaitNetworkService().get(url: url) as Int
            }
            await #expect(throws: (any Error).self) { try await task.value }
            #expect(server.requests.isEmpty)
        }
    }
}

@Suite struct PublisherTests {
    @Test func nothingStartsBeforeTheSubscriptionAndEachMakesOneRequest() async throws {
        try await TestServer.with { _ in
            .json(#"{"id": 1, "name": "Ada"}"#)
        } _: { server in
            let services: [any CombineNetwork] = [
                CombineNetworkService(), CallbackToCombineAdapter(service: Way.callback),
                AsyncAwaitToCombineAdapter(service: Way.awaited), CombineToCombineAdapter(service: Way.combine),
            ]
            for (index, service) in services.enumerated() {
                let publisher: AnyPublisher<User, any Error> = service.get(url: server.base)
                #expect(server.requests.count == index * 2)
                for _ in 0..<2 {
                    let result = await withCheckedContinuation { publisher.subscribe(Events<User>($0)) }
                    let name = try result.get().name
                    #expect(name == "Ada")
                }
                #expect(server.requests.count == index * 2 + 2)
            }
        }
    }

    /// Defect 36: a publisher that finished without a value used to make its caller wait forever.
    @Test func finishingWithoutAValueIsAnError() async {
        let adapted = AdaptedOperation<Void, Int, NetworkError>(missingValue: .noValue) { _, _ in
            Empty<Int, NetworkError>()
        }
        await #expect { try await adapted.value(()) } throws: { error in
            if case NetworkError.noValue = error { true } else { false }
        }
        struct Nothing: CombineNetwork {
            func get<T: Decodable>(url: URL) -> AnyPublisher<T, any Error> { Empty().eraseToAnyPublisher() }
        }
        await #expect(throws: NetworkError.self) {
            try await CombineToAsyncAwaitAdapter(service: Nothing()).get(url: URL(fileURLWithPath: "/")) as Int
        }
        let result = await withCheckedContinuation { continuation in
            CombineToCallbackAdapter(service: Nothing()).get(url: URL(fileURLWithPath: "/")) {
                (result: Result<Int, any Error>) in
                continuation.resume(returning: result)
            }
        }
        #expect(throws: NetworkError.self) { try result.get() }
    }

    /// Defect 36: a second value used to resume the continuation twice, and subscriptions were kept forever.
    @Test func ofManyValuesTheFirstCountsAndTheSubscriptionIsTakenBack() async throws {
        let subject = PassthroughSubject<Int, NetworkError>()
        nonisolated(unsafe) let shared = subject
        let ends = Signal()
        let subscribed = Signal()
        let adapted = AdaptedOperation<Void, Int, NetworkError>(missingValue: .noValue) { _, _ in
            shared.handleEvents(
                receiveSubscription: { _ in subscribed.send() }, receiveCancel: { ends.send() })
        }
        async let value = adapted.value(())
        #expect(await subscribed.wait())
        subject.send(1)
        subject.send(2)
        let first = try await value
        #expect(first == 1)
        #expect(await ends.wait())
    }

    @Test func cancellingTheWaitCancelsTheSubscription() async {
        let ends = Signal()
        let subscribed = Signal()
        let adapted = AdaptedOperation<Void, Int, Plain>(missingValue: Plain()) { _, _ in
            PassthroughSubject<Int, Plain>().handleEvents(
                receiveSubscription: { _ in subscribed.send() }, receiveCancel: { ends.send() })
        }
        let task = Task { try await adapted.value(()) }
        #expect(await subscribed.wait())
        task.cancel()
        #expect(await ends.wait())
        await #expect(throws: Plain.self) { try await task.value }
    }

    /// An error type that cannot represent cancellation.
    private struct Plain: Error {}

    @Test func cancelledSubscriptionHearsNothingMore() async {
        let started = Signal()
        let stopped = Signal()
        let work = AdaptedOperation<Void, Int, any Error> { (_, context) async throws(any Error) in
            await withCheckedContinuation { continuation in
                context.cancellation.register { continuation.resume() }
                started.send()
            }
            stopped.send()
            return 1
        }
        let events = Events<Int>()
        work.publisher(()).subscribe(events)
        #expect(await started.wait())
        events.cancel()
        #expect(await stopped.wait())
        #expect(events.values.isEmpty && events.completions == 0)
    }

    @Test func subscriberThatCancelsAtTheValueHearsNoEnd() async {
        let work = AdaptedOperation<Void, Int, any Error> { (_, _) async throws(any Error) in 5 }
        let heard = Mutex<[String]>([])
        let ended = Signal()
        let released = Signal()
        final class Once: Subscriber, Sendable {
            let hear: @Sendable (String, (any Subscription)?) -> Void
            let gone: @Sendable () -> Void
            private let subscription = Mutex<Held?>(nil)
            struct Held: @unchecked Sendable { let subscription: any Subscription }
            init(
                hear: @escaping @Sendable (String, (any Subscription)?) -> Void, gone: @escaping @Sendable () -> Void
            ) {
                self.hear = hear
                self.gone = gone
            }
            func receive(subscription: any Subscription) {
                let held = Held(subscription: subscription)
                self.subscription.withLock { $0 = held }
                subscription.request(.unlimited)
            }
            func receive(_ input: Int) -> Subscribers.Demand {
                hear("value", subscription.withLock { $0 }?.subscription)
                return .none
            }
            func receive(completion: Subscribers.Completion<any Error>) { hear("end", nil) }
            deinit { gone() }
        }
        work.publisher(()).subscribe(
            Once { line, subscription in
                heard.withLock { $0.append(line) }
                subscription?.cancel()
                ended.send()
            } gone: {
                released.send()
            })
        #expect(await ended.wait())
        #expect(await released.wait(), "nothing holds it any more, so all has been said")
        #expect(heard.withLock { $0 } == ["value"])
    }

    @Test func valueIsFollowedByTheEndAndFailureIsTyped() async {
        let events = Events<Int>()
        let done = Signal()
        let work = AdaptedOperation<Void, Int, any Error> { (_, _) async throws(any Error) in 5 }
        work.publisher(()).handleEvents(receiveCompletion: { _ in done.send() }).subscribe(events)
        #expect(await done.wait())
        #expect(events.values == [5])
        let typed: OperationPublisher<NetworkRequest<Int>> = NetworkRequest<Int>(session: .uncached).publisher(
            URL(fileURLWithPath: "/nowhere"))
        let failed: AnyPublisher<Int, NetworkError> = typed.eraseToAnyPublisher()
        _ = failed
    }
}
