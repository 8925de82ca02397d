import NIOHTTP1
import OperationTypes
import Pages
import Web
import WebSyntax

/// The resolution of one link.
struct UnfurlChain: Sendable {
    let client: OutgoingClient
    let configuration: UnfurlConfiguration
    let documents: DocumentReader
    let limit: Int
    let readsPage: Bool
    let context: OperationContext
    let stopwatch: Stopwatch

    /// The next step after one response.
    private enum Step: Sendable {
        case follow(WebURL, via: Hop.Via)
        /// HEAD was refused, or its response proves nothing.
        case askWithGet
        case final(Final)
    }

    private struct Final: Sendable {
        var status: Int
        var contentType: String?
        var page = PageHead()
    }

    func resolve(_ start: WebURL) async throws(KindFailure) -> Unfurl.Output {
        do throws(KindFailure) {
            return try await resolve(start, with: .HEAD)
        } catch {
            // Some servers redirect HEAD in a loop but respond to GET.
            guard error.reason == .redirectLoop else { throw error }
            return try await resolve(start, with: .GET)
        }
    }

    private func resolve(_ start: WebURL, with first: HTTPMethod) async throws(KindFailure) -> Unfurl.Output {
        var trail = RedirectTrail(limit: limit)
        var url = start
        var method = first
        var isRepeat = false
        while true {
            if let inner = Wrapper.target(of: url, also: configuration.wrappers) {
                try trail.step(from: url, to: inner, via: .wrapper)
                url = inner
                continue
            }
            if let secure = client.strictForm(of: url) {
                try trail.step(from: url, to: secure, via: .strictTransport)
                url = secure
            }
            let step = try await ask(url, method: method, isRepeat: isRepeat, trail: &trail)
            isRepeat = false
            switch step {
            case .askWithGet:
                method = .GET
                isRepeat = true
            case .follow(let next, let via):
                try trail.follow(from: url, to: next, via: via)
                context.report(OperationProgress(completed: Int64(trail.redirects), unit: "redirects"))
                url = next
                method = first
            case .final(let final):
                return Unfurl.Output(
                    finalURL: "\(url)", status: final.status, contentType: final.contentType,
                    canonicalURL: final.page.canonical.flatMap {
                        // An invalid canonical address is the page's mistake, so the output omits it.
                        try? WebURL(parsing: $0, base: final.page.base(at: url)).description
                    }, cleanedURL: "\(configuration.tracking.clean(url))",
                    title: final.page.title, isDowngraded: trail.isDowngraded, hops: trail.hops)
            }
        }
    }

    private func ask(
        _ url: WebURL, method: HTTPMethod, isRepeat: Bool, trail: inout RedirectTrail
    ) async throws(KindFailure) -> Step {
        let request = OutgoingRequest.page(method, url, cookies: trail.cookies)
        let way = trail
        let limit = configuration.hopTimeout
        let answer: (Step, RedirectTrail)
        do throws(KindFailure) {
            let end = stopwatch.reading + limit
            answer = try await withLimit(
                left: { stopwatch.left(until: end) },
                failure: .timeout("the request to this address", after: limit, at: url)
            ) { () async throws(KindFailure) in
                try await client.exchange(request, stopwatch: stopwatch) { response throws(KindFailure) in
                    var trail = way
                    if isRepeat, trail.hops.last?.url == "\(url)" {
                        trail.replaceLast(response, method: method)
                    } else {
                        trail.record(response, method: method)
                    }
                    let step = try await judge(response, method: method, trail: &trail)
                    return (step, trail)
                }
            }
        } catch {
            // Some servers respond to HEAD by dropping the connection, staying silent, or sending something that is not
            // HTTP.
            let mayBeTheMethod = [.connectionLost, .protocolError, .timeout].contains(error.reason)
            guard method == .HEAD, mayBeTheMethod else { throw error }
            return .askWithGet
        }
        trail = answer.1
        return answer.0
    }

    private func judge(
        _ response: OutgoingResponse, method: HTTPMethod, trail: inout RedirectTrail
    ) async throws(KindFailure) -> Step {
        let url = response.url
        if Redirect.isRedirect(response.status) {
            await response.discard()
            do throws(KindFailure) {
                return .follow(try Redirect.target(of: response.head), via: .location)
            } catch {
                if method == .HEAD { return .askWithGet }
                throw error
            }
        }
        if let refresh = response.headers["refresh"].first, response.isSuccess,
            let target = Refresh.target(in: refresh, base: url), trail.leadsOn(from: url, to: target)
        {
            return .follow(target, via: .refreshHeader)
        }
        let type = response.headers["content-type"].first
        if method == .HEAD {
            // Servers often refuse HEAD or handle it carelessly. Only a successful response that has a content type and
            // is not a wall is trusted.
            guard response.isSuccess, type != nil, Wall.failure(response, title: nil) == nil else { return .askWithGet }
            return readsPage && PageHead.isPage(type)
                ? .askWithGet : .final(Final(status: response.status, contentType: type))
        }
        var final = Final(status: response.status, contentType: type)
        let wantsPage = readsPage || !response.isSuccess
        var signs: PageSigns?
        if wantsPage, PageHead.isPage(type) {
            let page = try await readPage(of: response, HeadTask(contentType: type))
            (final.page, signs) = (page.head, page.signs)
        }
        if let wall = Wall.failure(response, title: final.page.title, page: signs) { throw wall }
        guard response.isSuccess || response.status == 304 || response.status == 300 else {
            throw .status(response.head, at: url)
        }
        if let refresh = final.page.refresh,
            let target = Refresh.target(in: refresh, base: final.page.base(at: url)),
            trail.leadsOn(from: url, to: target)
        {
            return .follow(target, via: .metaRefresh)
        }
        return .final(final)
    }

    /// Reads the page's head. If the head does not describe the page, the page may be a wall, so the rest is read as
    /// well.
    private func readPage(
        of response: OutgoingResponse, _ task: HeadTask
    ) async throws(KindFailure) -> HeadTask.Answer {
        // Walls are small, so a long page is not read beyond its head.
        let announced = response.headers["content-length"].first.flatMap { Int($0) } ?? 0
        let isLong = announced > configuration.pageBytes
        var scanner = HeadScanner()
        var head: (answer: HeadTask.Answer, bytes: Int)?
        let body = try await response.readDecoded(
            upTo: configuration.pageBytes, received: configuration.pageBytes * 2
        ) { bytes async throws(KindFailure) in
            guard head == nil, scanner.advance(to: bytes) else { return false }
            let answer = try await documents.read(task, bytes, at: response.url)
            head = (answer, bytes.count)
            return isLong || answer.signs.describesItself
        }
        var page =
            if let head, head.bytes == body.bytes.count { head.answer } else {
                try await documents.read(task, body.bytes, at: response.url)
            }
        page.signs.isCut = body.isTruncated || isLong
        return page
    }
}

extension OutgoingRequest {
    /// Returns the request with which `unfurl` and `enrich` ask for a page.
    static func page(_ method: HTTPMethod, _ url: WebURL, cookies: CookieJar) -> OutgoingRequest {
        var request = OutgoingRequest(method: method, url: url)
        request.headers = [
            "accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-encoding": OutgoingResponse.acceptedCodings,
            "accept-language": "en,*;q=0.5",
        ]
        if let cookie = cookies.header(for: url) { request.headers.add(name: "cookie", value: cookie) }
        return request
    }
}
