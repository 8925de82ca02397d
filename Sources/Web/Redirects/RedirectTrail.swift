import NIOHTTP1
import WebSyntax

/// The hops so far, with limits that end every chain.
///
/// 1. Every hop is recorded.
/// 2. No address is visited twice with the same cookies.
/// 3. At most `limit` redirects are followed.
package struct RedirectTrail: Sendable {
    package private(set) var hops: [Hop] = []
    package private(set) var cookies = CookieJar()
    private var visited: Set<String> = []
    package private(set) var redirects = 0
    package private(set) var isDowngraded = false
    /// The pages whose refresh to themselves has been followed.
    private var renewed: Set<String> = []
    let limit: Int

    package init(limit: Int) { self.limit = limit }

    package mutating func record(_ response: OutgoingResponse, method: HTTPMethod) {
        hops.append(Hop(response, method: method))
        visited.insert(key(response.url))
        cookies.take(from: response)
    }

    /// Replaces the last hop with the response to a second request for the same address, sent with another method.
    package mutating func replaceLast(_ response: OutgoingResponse, method: HTTPMethod) {
        hops.removeLast()
        record(response, method: method)
    }

    /// Adds a step from one address to the next that needs no request.
    package mutating func step(from: WebURL, to: WebURL, via: Hop.Via) throws(KindFailure) {
        hops.append(Hop(unasked: from))
        visited.insert(key(from))
        try follow(from: from, to: to, via: via)
    }

    /// Whether to follow a refresh.
    ///
    /// A page that refreshes to itself may be a waiting page. Its refresh is followed if the cookies have changed since
    /// the request, but only once, because a page that reloads itself may set new cookies each time.
    package mutating func leadsOn(from: WebURL, to: WebURL) -> Bool {
        guard from.withoutFragment == to.withoutFragment else { return true }
        return !visited.contains(key(to)) && renewed.insert("\(to.withoutFragment)").inserted
    }

    /// Counts a redirect from the last hop to the next address.
    ///
    /// - Throws: `too_many_redirects` above the limit; `redirect_loop` if the next address was already visited with the
    ///   same cookies.
    package mutating func follow(from: WebURL, to: WebURL, via: Hop.Via) throws(KindFailure) {
        if !hops.isEmpty { hops[hops.count - 1].via = via }
        redirects += 1
        guard redirects <= limit else {
            throw KindFailure(
                .tooManyRedirects, at: from,
                "more than \(limit) redirects; raise `max_redirects` if this link needs more.")
        }
        guard !visited.contains(key(to)) else {
            throw KindFailure(
                .redirectLoop, at: to, "the redirects lead back to this address; the link cannot be resolved.")
        }
        if from.scheme == .https, to.scheme == .http { isDowngraded = true }
    }

    private func key(_ url: WebURL) -> String { "\(cookies.header(for: url) ?? "")\n\(url.withoutFragment)" }
}
