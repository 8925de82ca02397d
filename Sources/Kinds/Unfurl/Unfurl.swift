import Jobs
import NIOHTTP1
import OperationTypes

/// Follows a link to where it leads.
///
/// Asks with HEAD, and with GET where HEAD is refused or proves nothing; reads the head of the final page. Running again asks
/// again; nothing is changed anywhere.
public struct Unfurl: Kind {
    public typealias Failure = KindFailure
    public typealias Accepted = Link
    public typealias Offered = Link

    public static let name = "unfurl"
    public static let summary = "Resolves a link through all its redirects"

    let client: OutgoingClient
    let configuration: UnfurlConfiguration

    public init(client: OutgoingClient, configuration: UnfurlConfiguration = UnfurlConfiguration()) {
        self.client = client
        self.configuration = configuration
    }

    public func run(_ input: Input, context: OperationContext) async throws(KindFailure) -> Output {
        let start = try WebURL(input: input.url, field: "url")
        let limit = input.maxRedirects ?? configuration.maxRedirects
        guard (0...50).contains(limit) else { throw .invalid("max_redirects", "must be from 0 to 50") }
        let timeout = input.timeoutMs.map { Duration.milliseconds($0) } ?? configuration.timeout
        guard timeout > .zero else { throw .invalid("timeout_ms", "must be above 0") }
        let readsPage = input.readPage ?? true
        return try await withDeadline(timeout, failure: .timeout("the chain of redirects", after: timeout, at: start)) {
            () async throws(KindFailure) in
            try await resolve(start, limit: limit, readsPage: readsPage, context: context)
        }
    }

    /// What one answer says: go on, ask the same address with GET, or this is it.
    private enum Step: Sendable {
        case follow(WebURL, via: Hop.Via)
        case askWithGet
        case final(Final)
    }

    private struct Final: Sendable {
        var status: Int
        var contentType: String?
        var page = PageHead()
    }

    private func resolve(
        _ start: WebURL, limit: Int, readsPage: Bool, context: OperationContext
    ) async throws(KindFailure) -> Output {
        var trail = RedirectTrail(limit: limit)
        var url = start
        var method = HTTPMethod.HEAD
        var isRepeat = false
        while true {
            let step = try await ask(url, method: method, isRepeat: isRepeat, readsPage: readsPage, trail: &trail)
            isRepeat = false
            switch step {
            case .askWithGet:
                method = .GET
                isRepeat = true
            case .follow(let next, let via):
                try trail.follow(from: url, to: next, via: via)
                context.report(OperationProgress(completed: Int64(trail.redirects), unit: "redirects"))
                url = next
                method = .HEAD
            case .final(let final):
                return Output(
                    finalURL: "\(url)", status: final.status, contentType: final.contentType,
                    canonicalURL: final.page.canonical.flatMap {
                        // A canonical address that cannot be read is the page's mistake; it is left out.
                        try? WebURL(parsing: $0, base: final.page.base(at: url)).description
                    }, cleanedURL: "\(TrackingParameters.clean(url, extra: configuration.trackingParameters))",
                    title: final.page.title, isDowngraded: trail.isDowngraded, hops: trail.hops)
            }
        }
    }

    private func ask(
        _ url: WebURL, method: HTTPMethod, isRepeat: Bool, readsPage: Bool, trail: inout RedirectTrail
    ) async throws(KindFailure) -> Step {
        var request = OutgoingRequest(method: method, url: url)
        request.headers = [
            "accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-encoding": OutgoingResponse.acceptedCodings,
            "accept-language": "en,*;q=0.5",
        ]
        if let cookie = trail.cookies.header(for: url) { request.headers.add(name: "cookie", value: cookie) }
        let way = trail
        let step: (Step, RedirectTrail)
        do throws(KindFailure) {
            step = try await client.exchange(request) { response throws(KindFailure) in
                var trail = way
                if isRepeat, !trail.hops.isEmpty, trail.hops.last?.url == "\(url)" {
                    trail.replaceLast(response, method: method)
                } else {
                    trail.record(response, method: method)
                }
                return (try await judge(response, method: method, readsPage: readsPage), trail)
            }
        } catch {
            // Some servers drop the connection, or answer something that is not HTTP, when they see HEAD.
            let mayBeTheMethod = error.reason == .connectionLost || error.reason == .protocolError
            guard method == .HEAD, mayBeTheMethod else { throw error }
            return .askWithGet
        }
        trail = step.1
        return step.0
    }

    private func judge(
        _ response: OutgoingResponse, method: HTTPMethod, readsPage: Bool
    ) async throws(KindFailure) -> Step {
        let url = response.url
        if Redirect.isRedirect(response.status) {
            await response.discard()
            return .follow(try Redirect.target(of: response), via: .location)
        }
        if let refresh = response.headers["refresh"].first, response.isSuccess,
            let target = Refresh.target(in: refresh, base: url)
        {
            return .follow(target, via: .refreshHeader)
        }
        let type = response.headers["content-type"].first
        if method == .HEAD {
            // HEAD is often refused or answered carelessly; only a success that names its type is believed.
            guard response.isSuccess, type != nil else { return .askWithGet }
            return readsPage && PageHead.isPage(type)
                ? .askWithGet : .final(Final(status: response.status, contentType: type))
        }
        guard response.isSuccess || response.status == 304 || response.status == 300 else {
            throw .status(response, at: url)
        }
        guard readsPage, PageHead.isPage(type) else { return .final(Final(status: response.status, contentType: type)) }
        let body = try await response.readDecoded(
            upTo: configuration.pageBytes, received: configuration.pageBytes * 2, until: PageHead.isComplete)
        let page = PageHead(body.bytes, contentType: type)
        if let refresh = page.refresh, let target = Refresh.target(in: refresh, base: page.base(at: url)) {
            return .follow(target, via: .metaRefresh)
        }
        return .final(Final(status: response.status, contentType: type, page: page))
    }
}

extension WebURL {
    /// The address of an input's field.
    init(input text: String?, field: String) throws(KindFailure) {
        guard let text else { throw .invalid(field, "is missing; name an address, or let a dependency give it") }
        do throws(WebURLProblem) { try self.init(parsing: text) } catch { throw .invalidURL(error, field: field) }
    }
}
