import ControlProtocol
import HTTPTypes
import Hummingbird
import HummingbirdCore

/// The methods of each path, for the answer to a request that matches no route.
struct RouteTable: Sendable {
    private let routes: [(segments: [Substring], method: HTTPRequest.Method)]

    init(_ router: Router<ControlContext>) {
        routes = router.routes.map { (Self.segments($0.path.description), $0.method) }
    }

    /// Descriptions of all routes, such as `GET /v1/jobs/{job}`.
    var descriptions: [String] { routes.map { "\($0.method) /\($0.segments.joined(separator: "/"))" } }

    private static func segments(_ path: String) -> [Substring] {
        Substring(path).split(separator: "/", omittingEmptySubsequences: true)
    }

    private func methods(of path: String) -> [HTTPRequest.Method] {
        let segments = Self.segments(path)
        let matching = routes.filter { route in
            route.segments.count == segments.count
                && zip(route.segments, segments).allSatisfy { $0.first == "{" || $0 == $1 }
        }
        // Like the router, prefer an exact match: `jobs/cancel` is not `jobs/{job}`.
        let exact = matching.filter { $0.segments == segments }
        return (exact.isEmpty ? matching : exact).map(\.method)
    }

    func unknown(_ request: Request) -> Response {
        let methods = methods(of: request.uri.path).map(\.rawValue).sorted().joined(separator: ", ")
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
