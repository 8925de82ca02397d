import Foundation
import OperationTypes
import Operations

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Gets the bytes at a URL. All services are built on this typed operation.
public struct NetworkFetch: TypedOperation {
    private let connection: NetworkConnection

    /// Creates an operation.
    ///
    /// - Parameter session: The session for the requests. If it has a cache, a copy without a cache is used instead,
    ///   since cancelling a task of a session with a cache can end the process on Linux (swift-corelibs-foundation
    ///   3296).
    public init(session: URLSession) { connection = NetworkConnection(session) }

    /// Makes one request.
    ///
    /// - Throws: ``NetworkError``. Repeating the request is safe.
    public func run(_ url: URL, context: OperationContext) async throws(NetworkError) -> Data {
        if context.cancellation.isCancelling { throw .cancelled }
        // Waits for the completion handler, because the session's async functions deadlock with cancellation on Linux
        // (swift-corelibs-foundation 5412).
        var registration: CancellationRegistration?
        defer { registration?.unregister() }
        let (data, response, error) = await withUnsafeContinuation { continuation in
            let task = connection.session.dataTask(with: url) { data, response, error in
                continuation.resume(returning: (data, response, error))
            }
            // The task is cancelled on another thread, since the cancelling thread may hold a lock that the session's
            // queue needs.
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

/// Gets and decodes the content of a URL, as a typed operation for every calling style.
public struct NetworkRequest<Value: Decodable & Sendable>: TypedOperation {
    let fetch: NetworkFetch
    let decoder: JSONDecoder

    /// Creates an operation. Its requests use `session`, or a copy of it without a cache.
    public init(session: URLSession, decoder: JSONDecoder = JSONDecoder()) {
        fetch = NetworkFetch(session: session)
        self.decoder = decoder
    }

    /// Makes one request and decodes the body of the response.
    ///
    /// - Throws: ``NetworkError``. Repeating the request is safe.
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

/// A session without a cache. If it is a copy, it is invalidated when this object is released.
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
    /// A session for the services. It has no cache and keeps nothing on disk.
    public static let uncached: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        return URLSession(configuration: configuration)
    }()
}
