import Foundation
@preconcurrency import OpenCombine
import OperationTypes
import Operations

// Each adapter is two halves: from a service of one style to a typed operation, and from that to the other style.

/// A decoded value of a type that is known at both ends. In between it is not named, since a type that is only `Decodable` may
/// not be where closures run concurrently.
typealias Parcel = Handoff<Any>

typealias AdaptedNetwork = AdaptedOperation<URL, Parcel, any Error>

/// A service of some style.
enum NetworkSource: Sendable {
    case callback(any CallbackNetwork)
    case combine(any CombineNetwork)
    case asyncAwait(any AsyncAwaitNetwork)

    func operation<T: Decodable>(_ type: T.Type) -> AdaptedNetwork {
        switch self {
        case .callback(let service): service.operation(type)
        case .combine(let service): service.operation(type)
        case .asyncAwait(let service): service.operation(type)
        }
    }
}

extension CallbackNetwork {
    func operation<T: Decodable>(_: T.Type) -> AdaptedNetwork {
        let start = Handoff { (url: URL, completion: @escaping @Sendable (Result<Parcel, any Error>) -> Void) in
            get(url: url) { (result: Result<T, any Error>) in completion(result.map(Parcel.init)) }
        }
        return AdaptedNetwork(callback: { url, context, completion in
            let request = start.value(url, completion)
            context.cancellation.register { request.cancel() }
        })
    }
}

extension CombineNetwork {
    func operation<T: Decodable>(_: T.Type) -> AdaptedNetwork {
        let publisher = Handoff { (url: URL) -> AnyPublisher<Parcel, any Error> in
            get(url: url).map { (value: T) in Parcel(value) }.eraseToAnyPublisher()
        }
        return AdaptedNetwork(missingValue: NetworkError.noValue) { url, _ in publisher.value(url) }
    }
}

extension AsyncAwaitNetwork {
    func operation<T: Decodable>(_: T.Type) -> AdaptedNetwork {
        let wait = Handoff { (url: URL) async throws -> Parcel in Parcel(try await get(url: url) as T) }
        return AdaptedNetwork { (url, _) async throws(any Error) in try await wait.value(url) }
    }
}

extension AdaptedNetwork {
    func call<T: Decodable>(_ url: URL, _ callback: @escaping (Result<T, any Error>) -> Void) -> CancellationTokenSource
    {
        let end = Handoff { (result: Result<Parcel, any Error>) in
            callback(Result { try result.get().unpack() })
        }
        return start(url) { end.value($0) }
    }

    func publish<T: Decodable>(_ url: URL) -> AnyPublisher<T, any Error> {
        publisher(url).tryMap { try $0.unpack() }.eraseToAnyPublisher()
    }

    func wait<T: Decodable>(_ url: URL) async throws -> T {
        try await value(url).unpack()
    }
}

extension Parcel {
    fileprivate func unpack<T>() throws(NetworkError) -> T {
        guard let value = value as? T else { throw .noValue }
        return value
    }
}
