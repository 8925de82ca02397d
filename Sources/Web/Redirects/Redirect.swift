import NIOHTTP1
import WebSyntax

/// Finds a redirect's target from the response's status and `Location` (RFC 9110, 15.4).
package enum Redirect {
    /// Whether a response with this status is followed. 300, 304 and 305 are not: they offer choices, report no change,
    /// or name a proxy.
    package static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// - Returns: The target, with the fragment of the response's own address if it has none.
    /// - Throws: `redirect_invalid` if `Location` is missing, empty, ambiguous or not a valid address.
    package static func target(of response: ResponseHead) throws(KindFailure) -> WebURL {
        let url = response.url
        let given = response.headers["location"].map(\.trimmingSpaces)
        guard let text = given.first, Set(given).count == 1 else {
            let problem = given.isEmpty ? "has no Location header" : "has several different Location headers"
            throw invalid("the redirect \(problem)", response)
        }
        if text.isEmpty { throw invalid("the redirect has an empty Location header", response) }
        do throws(WebURLProblem) {
            var target = try WebURL(parsing: text, base: url)
            if target.fragment == nil { target.fragment = url.fragment }
            return target
        } catch {
            throw invalid("the redirect's target cannot be followed (\(error))", response)
        }
    }

    private static func invalid(_ what: String, _ response: ResponseHead) -> KindFailure {
        KindFailure(.redirectInvalid, at: response.url, "\(what); the server must be fixed.", status: response.status)
    }
}
