import Jobs

/// A path of the control socket with the function that answers its requests.
///
/// Each verb declares its route next to the call that the client sends. The server has further routes for the requests
/// whose bodies or responses are streams.
package struct Route: Sendable {
    package let method: Call.Method
    /// The path after `/v1/`, with a parameter such as `{name}`.
    package let path: String
    package let answer: @Sendable (RouteRequest) async throws -> RouteAnswer

    init(
        _ method: Call.Method, _ path: String,
        _ answer: @escaping @Sendable (RouteRequest) async throws -> RouteAnswer
    ) {
        self.method = method
        self.path = path
        self.answer = answer
    }
}

/// The answer to a request, with the information that the server needs to produce it.
package enum RouteAnswer: Sendable {
    /// The verb was carried out; there is nothing to return.
    case done
    /// A value that is small, or whose size does not depend on the request.
    case value(JSONText, status: Int = 200)
    /// A value whose size depends on the request. The server produces few of them at a time.
    case large(@Sendable () async throws -> JSONText)
    /// A value whose size depends on the request, in another format than JSON.
    case text(type: String, @Sendable () async throws -> String)
    /// A listing, which the server produces as fast as the caller reads it.
    case listing(Pieces)
    /// A value that may take long; nil if there is none. The work is cancelled when the caller disconnects.
    case slow(@Sendable () async throws -> JSONText?)
}
