import Foundation
import OperationTypes
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Gets the bytes at a URL: one typed operation under all the services.
public struct NetworkFetch: TypedOperation {
    private let connection: NetworkConnection

    /// - Parameter session: One with a cache is replaced by one like it without, since cancelling a task of a session with a
    ///   cache can end the process on Linux (swift-corelibs-foundation 3296).
    public init(session: URLSession) { connection = NetworkConnection(session) }

    public func run(_ url: URL, context: OperationContext) async throws(NetworkError) -> Data {
        if context.cancellation.isCancelling { throw .cancelled }
        // A continuation over the completion handler: the session's own async functions deadlock with cancellation on Linux
        // (swift-corelibs-foundation 5412).
        var registration: CancellationRegistration?
        defer { registration?.unregister() }
        let (data, response, error) = await withUnsafeContinuation { continuation in
            let task = connection.session.dataTask(with: url) { data, response, error in
                continuation.resume(returning: (data, response, error))
            }
            // From another thread: whoever cancels may hold a lock that the session's queue needs.
            registration = context.cancellation.register { DispatchQueue.global().async { task.cancel() } }
            task.resume()
        }
        return try Self.body(data, response, error, isCancelled: context.cancellation.isCancelling)
    }

    private static func body(
        _ data: Data?, _ response: URLResponse?, _ error: (any Error)?, isCancelled: Bool
    ) throws(NetworkError) -> Data {
        if let error { throw isCancelled ? .cancelled : .transport(error) }
        guard let response = response as? HTTPURLResponse else { throw .notHTTP }
        guard (200..<300).contains(response.statusCode) else {
            throw .status(response.statusCode, body: data ?? Data())
        }
        guard let data, !data.isEmpty else { throw .noData }
        return data
    }
}

/// Decodes what is at a URL: a typed operation for every calling style.
public struct NetworkRequest<Value: Decodable & Sendable>: TypedOperation {
    let fetch: NetworkFetch
    let decoder: JSONDecoder

    public init(session: URLSession, decoder: JSONDecoder = JSONDecoder()) {
        fetch = NetworkFetch(session: session)
        self.decoder = decoder
    }

    public func run(_ url: URL, context: OperationContext) async throws(NetworkError) -> Value {
        try decoder.value(in: await fetch.run(url, context: context))
    }
}

extension JSONDecoder {
    func value<Value: Decodable>(in data: Data) throws(NetworkError) -> Value {
        do { return try decode(Value.self, from: data) } catch let error as DecodingError {
            throw .decoding(error)
        } catch {
            throw .unknown(error)
        }
    }
}

/// A session without a cache, ended with its last user if it is ours.
private final class NetworkConnection: Sendable {
    let session: URLSession
    private let isOwn: Bool

    init(_ session: URLSession) {
        let configuration = session.configuration
        isOwn = configuration.urlCache != nil
        configuration.urlCache = nil
        self.session =
            isOwn
            ? URLSession(configuration: configuration, delegate: session.delegate, delegateQueue: session.delegateQueue)
            : session
    }

    deinit {
        if isOwn { session.finishTasksAndInvalidate() }
    }
}

extension URLSession {
    /// A session for services, without a cache and without anything kept on disk.
    public static let uncached: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        return URLSession(configuration: configuration)
    }()
}
