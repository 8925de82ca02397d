import Jobs
import NIOHTTP1
import OperationTypes
import Pages
import Web
import WebSyntax

/// Fetches a page and extracts its metadata.
///
/// Each run fetches the page again and has no side effects, so repeating it is safe. A ``DocumentReader`` parses the
/// page.
public struct Enrich: Kind {
    public typealias Failure = KindFailure
    public typealias Accepted = Link

    public static let name = "enrich"
    public static let summary = "Fetches a page and extracts its title, description, picture and more"

    let client: OutgoingClient
    let configuration: EnrichConfiguration
    let documents: DocumentReader

    /// Creates the kind.
    ///
    /// - Parameters:
    ///   - client: Sends the requests. The caller must not shut it down before the last run has ended.
    ///   - documents: Parses documents. Default: in this process.
    public init(
        client: OutgoingClient, configuration: EnrichConfiguration = EnrichConfiguration(),
        documents: DocumentReader = DocumentReader()
    ) {
        self.client = client
        self.configuration = configuration
        self.documents = documents
    }

    public static var cleansUp: Bool { false }

    public func refusal(of input: PlannedInput) -> InputRefusal? { InputRefusal(ofAddressIn: input) }

    public func run(_ input: Input, context: OperationContext) async throws(KindFailure) -> Output {
        let start = try WebURL(input: input.url, field: "url")
        try Self.check(input.maxRedirects, of: "max_redirects")
        try Self.check(input.maxSize?.bytes, of: "max_size")
        try Self.check(input.timeout?.duration.milliseconds, of: "timeout")
        let limit = input.maxRedirects ?? configuration.maxRedirects
        let maxBytes = min(input.maxSize.map { Int($0.bytes) } ?? configuration.maxBytes, configuration.maxBytes)
        let timeout = input.timeout?.duration ?? configuration.timeout
        var validators: HTTPHeaders = [:]
        if let etag = input.etag { validators.add(name: "if-none-match", value: etag) }
        if let date = input.lastModified { validators.add(name: "if-modified-since", value: date) }
        let page = PageRequest(start: start, validators: validators, maxRedirects: limit, maxBytes: maxBytes)
        let end = ContinuousClock.now + timeout
        var output = try await withDeadline(timeout, failure: .timeout("fetching the page", after: timeout, at: start))
        {
            () async throws(KindFailure) in try await fetch(page, context: context)
        }
        // The picture must be measured in the remaining time. If that is not enough, the page's metadata is still
        // returned.
        if input.measuresImage ?? true { try await measureImage(of: &output, within: end - .now) }
        return output
    }

    private struct PageRequest: Sendable {
        var start: WebURL
        /// The headers that allow the server to respond with 304.
        var validators: HTTPHeaders
        var maxRedirects: Int
        var maxBytes: Int
    }

    private enum Step: Sendable {
        case follow(WebURL)
        case done(Output)
        /// A PDF whose end is needed as well; `start` holds the bytes read so far.
        case pdf(Output, start: [UInt8])
    }

    private func fetch(_ page: PageRequest, context: OperationContext) async throws(KindFailure) -> Output {
        var trail = RedirectTrail(limit: page.maxRedirects)
        var url = page.start
        while true {
            if let secure = client.strictForm(of: url) {
                try trail.step(from: url, to: secure, via: .strictTransport)
                url = secure
            }
            var request = OutgoingRequest.page(.GET, url, cookies: trail.cookies)
            request.headers.add(contentsOf: page.validators)
            let way = trail
            let step: Step
            (step, trail) = try await client.exchange(request) { response throws(KindFailure) in
                var trail = way
                trail.record(response, method: .GET)
                if Redirect.isRedirect(response.status) {
                    await response.discard()
                    return (Step.follow(try Redirect.target(of: response.head)), trail)
                }
                if response.status == 304, !page.validators.isEmpty {
                    var output = Output(DocumentMetadata(url: "\(response.url)"), of: response)
                    output.isUnchanged = true
                    return (.done(output), trail)
                }
                return (try await describe(response, maxBytes: page.maxBytes, context: context), trail)
            }
            switch step {
            case .done(var output):
                output.hops = trail.hops
                return output
            case .pdf(var output, let start):
                output.hops = trail.hops
                guard let tail = try await pdfTail(at: url, after: start.count, etag: output.etag) else {
                    return output
                }
                let task = DescribeTask(
                    url: output.url, contentType: output.contentType, gap: start.count..<tail.start)
                output.metadata = try await documents.read(task, start + tail.bytes, at: url)
                output.isTruncated = true
                return output
            case .follow(let next):
                try trail.follow(from: url, to: next, via: .location)
                url = next
            }
        }
    }

    private func describe(
        _ response: OutgoingResponse, maxBytes: Int, context: OperationContext
    ) async throws(KindFailure) -> Step {
        let url = response.url
        let type = response.headers["content-type"].first
        let task = DescribeTask(url: "\(url)", contentType: type)
        var watch = DocumentWatch(contentType: type)
        var head: DocumentMetadata?
        var isCut = false
        let body = try await response.readDecoded(
            upTo: maxBytes, received: configuration.maxReceivedBytes, keepsPart: true
        ) { bytes async throws(KindFailure) in
            switch watch.look(at: bytes) {
            case .more: return false
            case .enough: isCut = true
            case .headIsComplete:
                guard response.isSuccess else { return false }
                let metadata = try await documents.read(task, bytes, at: url)
                guard metadata.saysAllInHead else { return false }
                head = metadata
                isCut = true
            }
            return true
        }
        if let interruption = body.interruption, !watch.suffices(body.bytes) { throw interruption }
        context.report(OperationProgress(completed: Int64(body.bytes.count), unit: "bytes"))
        let metadata = if let head { head } else { try await documents.read(task, body.bytes, at: url) }
        // A page with metadata is searched for signs of a wall only if its title is typical of one.
        let isJudged = metadata.charset != nil && (!metadata.saysWhatItIs || Wall.suspects(metadata.title))
        let signs = isJudged ? try await documents.read(SignsTask(), body.bytes, at: url) : nil
        if let wall = Wall.failure(response, title: metadata.title, page: signs) { throw wall }
        guard response.isSuccess else { throw .status(response.head, at: url) }
        var output = Output(metadata, of: response)
        output.isHeadOnly = head == nil ? nil : true
        output.isTruncated = body.isTruncated || isCut
        // Most PDFs store their metadata near the end.
        let wantsTail = body.isTruncated && response.headers[canonicalForm: "accept-ranges"].contains("bytes")
        return watch.isWhole && wantsTail ? .pdf(output, start: body.bytes) : .done(output)
    }
}

extension DocumentMetadata {
    /// Whether the page has more metadata than a title and inferred text.
    fileprivate var saysWhatItIs: Bool {
        !openGraph.isEmpty || !twitter.isEmpty || jsonLD != nil || sources["canonical_url"] != nil
            || confidence["description"].map { $0 != .low } ?? false
    }
}
