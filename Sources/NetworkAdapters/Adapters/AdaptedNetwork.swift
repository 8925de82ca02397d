import Foundation
@preconcurrency import OpenCombine
import OperationTypes
import Operations

// Each adapter has two halves: the first turns a service of one style into a typed operation, the second runs that
// operation in the other style.

/// A network service of any calling style.
enum NetworkSource: Sendable {
    case callback(any CallbackNetwork)
    case combine(any CombineNetwork)
    case asyncAwait(any AsyncAwaitNetwork)

    func operation<T: Decodable & Sendable>(_ type: T.Type) -> AdaptedOperation<URL, T, any Error> {
        switch self {
        case .callback(let service): service.operation(type)
        case .combine(let service): service.operation(type)
        case .asyncAwait(let service): service.operation(type)
        }
    }
}

extension CallbackNetwork {
    func operation<T: Decodable & Sendable>(_: T.Type) -> AdaptedOperation<URL, T, any Error> {
        AdaptedOperation(callback: { url, context, completion in
            let request = get(url: url, callback: completion)
            context.cancellation.register { request.cancel() }
        })
    }
}

extension CombineNetwork {
    func operation<T: Decodable & Sendable>(_: T.Type) -> AdaptedOperation<URL, T, any Error> {
        AdaptedOperation(missingValue: NetworkError.noValue) { url, _ in get(url: url) as AnyPublisher<T, any Error> }
    }
}

extension AsyncAwaitNetwork {
    func operation<T: Decodable & Sendable>(_: T.Type) -> AdaptedOperation<URL, T, any Error> {
        AdaptedOperation { (url, _) async throws(any Error) in try await get(url: url) }
    }
}
