import Jobs
import NIOHTTP1
import OperationTypes

/// Fetches a page and tells what it says about itself.
///
/// Running again fetches again; nothing is changed anywhere.
public struct Enrich: Kind {
    public typealias Failure = KindFailure
    public typealias Accepted = Link

    public static let name = "enrich"
    public static let summary = "Fetches a page and keeps its title, description, picture and more"

    let client: OutgoingClient
    let configuration: EnrichConfiguration

    public init(client: OutgoingClient, configuration: EnrichConfiguration = EnrichConfiguration()) {
        self.client = client
        self.configuration = configuration
    }

    public func run(_ input: Input, context: OperationContext) async throws(KindFailure) -> Output {
        let start = try WebURL(input: input.url, field: "url")
        let limit = input.maxRedirects ?? configuration.maxRedirects
        guard (0...50).contains(limit) else { throw .invalid("max_redirects", "must be from 0 to 50") }
        let maxBytes = min(input.maxBytes ?? configuration.maxBytes, configuration.maxBytes)
        guard maxBytes > 0 else { throw .invalid("max_bytes", "must be above 0") }
        let timeout = input.timeoutMs.map { Duration.milliseconds($0) } ?? configuration.timeout
        guard timeout > .zero else { throw .invalid("timeout_ms", "must be above 0") }
        return try await withDeadline(timeout, failure: .timeout("fetching the page", after: timeout, at: start)) {
            () async throws(KindFailure) in
            try await fetch(start, limit: limit, maxBytes: maxBytes, context: context)
        }
    }

    private enum Step: Sendable {
        case follow(WebURL, RedirectTrail)
        case done(Output)
    }

    private func fetch(
        _ start: WebURL, limit: Int, maxBytes: Int, context: OperationContext
    ) async throws(KindFailure) -> Output {
        var trail = RedirectTrail(limit: limit)
        var url = start
        while true {
            if let secure = client.strictForm(of: url) {
                try trail.step(from: url, to: secure, via: .strictTransport)
                url = secure
            }
            let request = OutgoingRequest.page(.GET, url, cookies: trail.cookies)
            let way = trail
            let step = try await client.exchange(request) { response throws(KindFailure) -> Step in
                var trail = way
                trail.record(response, method: .GET)
                if Redirect.isRedirect(response.status) {
                    await response.discard()
                    return .follow(try Redirect.target(of: response), trail)
                }
                return .done(try await describe(response, maxBytes: maxBytes, context: context))
            }
            switch step {
            case .done(let output): return output
            case .follow(let next, let recorded):
                trail = recorded
                try trail.follow(from: url, to: next, via: .location)
                url = next
            }
        }
    }

    private func describe(
        _ response: OutgoingResponse, maxBytes: Int, context: OperationContext
    ) async throws(KindFailure) -> Output {
        let type = response.headers["content-type"].first
        let body = try await response.readDecoded(upTo: maxBytes, received: configuration.maxReceivedBytes)
        context.report(OperationProgress(completed: Int64(body.bytes.count), unit: "bytes"))
        var output = Self.describe(body.bytes, url: response.url, contentType: type)
        if let wall = Wall.failure(response, title: output.title) { throw wall }
        guard response.isSuccess else { throw .status(response, at: response.url) }
        output.status = response.status
        output.isTruncated = body.isTruncated
        return output
    }
}
