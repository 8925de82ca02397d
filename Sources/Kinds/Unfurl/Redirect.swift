import NIOHTTP1

/// Finds a redirect's target from the response's status and `Location` (RFC 9110, 15.4).
enum Redirect {
    /// Whether a response with this status is followed. 300, 304 and 305 are not: they offer choices, report no change,
    /// or name a proxy.
    static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// - Returns: The target, with the fragment of the response's own address if it has none.
    /// - Throws: `redirect_invalid` if `Location` is missing, empty, ambiguous or not a valid address.
    static func target(of response: OutgoingResponse) throws(KindFailure) -> WebURL {
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

    private static func invalid(_ what: String, _ response: OutgoingResponse) -> KindFailure {
        KindFailure(
            .redirectInvalid, "\(response.url.redacted): \(what); the server must be fixed.",
            status: response.status,
            url: response.url)
    }
}

/// The hops so far, with limits that end every chain.
///
/// 1. Every hop is recorded.
/// 2. No address is visited twice with the same cookies.
/// 3. At most `limit` redirects are followed.
struct RedirectTrail: Sendable {
    private(set) var hops: [Hop] = []
    private(set) var cookies = CookieJar()
    private var visited: Set<String> = []
    private(set) var redirects = 0
    private(set) var isDowngraded = false
    /// The pages whose refresh to themselves has been followed.
    private var renewed: Set<String> = []
    let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func record(_ response: OutgoingResponse, method: HTTPMethod) {
        hops.append(Hop(response, method: method))
        visited.insert(key(response.url))
        cookies.take(from: response)
    }

    /// Replaces the last hop with the response to a second request for the same address, sent with another method.
    mutating func replaceLast(_ response: OutgoingResponse, method: HTTPMethod) {
        hops.removeLast()
        record(response, method: method)
    }

    /// Adds a step from one address to the next that needs no request.
    mutating func step(from: WebURL, to: WebURL, via: Hop.Via) throws(KindFailure) {
        hops.append(Hop(unasked: from))
        visited.insert(key(from))
        try follow(from: from, to: to, via: via)
    }

    /// Whether to follow a refresh.
    ///
    /// A page that refreshes to itself may be a waiting page. Its refresh is followed if the cookies have changed since
    /// the request, but only once, because a page that reloads itself may set new cookies each time.
    mutating func leadsOn(from: WebURL, to: WebURL) -> Bool {
        guard from.withoutFragment == to.withoutFragment else { return true }
        return !visited.contains(key(to)) && renewed.insert("\(to.withoutFragment)").inserted
    }

    /// Counts a redirect from the last hop to the next address.
    ///
    /// - Throws: `too_many_redirects` above the limit; `redirect_loop` if the next address was already visited with the
    ///   same cookies.
    mutating func follow(from: WebURL, to: WebURL, via: Hop.Via) throws(KindFailure) {
        if !hops.isEmpty { hops[hops.count - 1].via = via }
        redirects += 1
        guard redirects <= limit else {
            throw KindFailure(
                .tooManyRedirects,
                "\(from.redacted): more than \(limit) redirects; raise `max_redirects` if this link needs more.",
                url: from)
        }
        guard !visited.contains(key(to)) else {
            throw KindFailure(
                .redirectLoop, "\(to.redacted): the redirects lead back to this address; the link cannot be resolved.",
                url: to)
        }
        if from.scheme == .https, to.scheme == .http { isDowngraded = true }
    }

    private func key(_ url: WebURL) -> String { "\(cookies.header(for: url) ?? "")\n\(url.withoutFragment)" }
}

extension Hop {
    init(_ response: OutgoingResponse, method: HTTPMethod) {
        self.init(unasked: response.url)
        self.method = method.rawValue
        status = response.status
        address = "\(response.address)"
        version = response.version
        durationMs = response.duration.wholeMilliseconds
    }
}
