import ControlProtocol
import HTTPTypes
import HummingbirdCore

/// The routes of the socket, by method and path.
struct RouteTable: Sendable {
    typealias Handler = @Sendable (Request, ControlContext) async throws -> Response

    private struct Entry {
        let method: HTTPRequest.Method
        /// A segment such as `{job}` matches any text, which is the request's parameter.
        let segments: [Substring]
        let handler: Handler
    }

    private var entries: [Entry] = []
    /// The entries without a parameter, by their path.
    private var fixed: [String: [Entry]] = [:]

    /// Adds a route.
    ///
    /// - Parameter path: A path such as `jobs/{job}`, with at most one parameter. The version precedes it.
    mutating func on(_ method: HTTPRequest.Method, _ path: String, _ handler: @escaping Handler) {
        let path = "/v1/" + path
        let entry = Entry(method: method, segments: Self.segments(path), handler: handler)
        entries.append(entry)
        if !entry.segments.contains(where: Self.isParameter) { fixed[path, default: []].append(entry) }
    }

    /// Descriptions of all routes, such as `GET /v1/jobs/{job}`.
    var descriptions: [String] { entries.map { "\($0.method) /\($0.segments.joined(separator: "/"))" } }

    /// Answers a request by its route. A request that matches none gets a problem.
    func respond(to request: Request, in context: ControlContext) async throws -> Response {
        let path = request.uri.path
        let matching = entries(of: path)
        guard let entry = matching.first(where: { $0.method == request.method }) else {
            return unknown(request, matching.map(\.method))
        }
        var context = context
        if let place = entry.segments.firstIndex(where: Self.isParameter) {
            context.parameter = String(Self.segments(path)[place])
        }
        return try await entry.handler(request, context)
    }

    private static func segments(_ path: String) -> [Substring] {
        Substring(path).split(separator: "/", omittingEmptySubsequences: true)
    }

    private static func isParameter(_ segment: Substring) -> Bool { segment.first == "{" }

    /// The routes of a path, for all methods. `jobs/cancel` is not `jobs/{job}`.
    private func entries(of path: String) -> [Entry] {
        if let entries = fixed[path] { return entries }
        let segments = Self.segments(path)
        if let entries = fixed["/" + segments.joined(separator: "/")] { return entries }
        return entries.filter { entry in
            entry.segments.count == segments.count
                && zip(entry.segments, segments).allSatisfy { Self.isParameter($0) || $0 == $1 }
        }
    }

    private func unknown(_ request: Request, _ methods: [HTTPRequest.Method]) -> Response {
        let methods = methods.map(\.rawValue).sorted().joined(separator: ", ")
        guard !methods.isEmpty else {
            return ControlProblem(
                .notFound, "There is no \(request.uri.path). GET /v1/openapi.json lists every path."
            ).response
        }
        var response = ControlProblem(
            .methodNotAllowed, "\(request.uri.path) takes \(methods), not \(request.method)."
        ).response
        response.headers[.allow] = methods
        return response
    }
}
