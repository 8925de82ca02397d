import Jobs
import OperationTypes
import Web
import WebSyntax

/// Resolves a link to its final address.
///
/// It sends HEAD, then GET if HEAD is refused or its response proves nothing, and reads the head of the final page. A
/// run has no side effects, so repeating it is safe; it sends its requests again unless a recent result for the link is
/// cached.
public struct Unfurl: Kind {
    public typealias Failure = KindFailure
    public typealias Accepted = Link
    public typealias Offered = Link

    public static let name = "unfurl"
    public static let summary = "Resolves a link through all its redirects"

    let client: OutgoingClient
    let configuration: UnfurlConfiguration
    let documents: DocumentReader
    private let resolutions: Resolutions

    /// Creates the kind.
    ///
    /// - Parameters:
    ///   - client: Sends the requests. The caller must not shut it down before the last run has ended.
    ///   - documents: Parses pages. Default: in this process.
    public init(
        client: OutgoingClient, configuration: UnfurlConfiguration = UnfurlConfiguration(),
        documents: DocumentReader = DocumentReader()
    ) {
        self.client = client
        self.configuration = configuration
        self.documents = documents
        resolutions = Resolutions(configuration)
    }

    public static var cleansUp: Bool { false }

    public func refusal(of input: PlannedInput) -> InputRefusal? { InputRefusal(ofAddressIn: input) }

    public func run(_ input: Input, context: OperationContext) async throws(KindFailure) -> Output {
        let start = try WebURL(input: input.url, field: "url")
        try Self.check(input.maxRedirects, of: "max_redirects")
        try Self.check(input.timeout?.duration.milliseconds, of: "timeout")
        let limit = input.maxRedirects ?? configuration.maxRedirects
        let timeout = input.timeout?.duration ?? configuration.timeout
        // The resolution has its own time limit, since callers that join it later have their own limits.
        let longest = max(timeout, configuration.timeout)
        let key = Resolutions.Key(
            url: "\(start)", limit: limit, readsPage: input.readPage ?? true, timeout: longest)
        let resolutions = resolutions
        return try await withDeadline(
            timeout, failure: Self.late(start, crowded: resolutions.crowdedPlace(of: key), after: timeout)
        ) { () async throws(KindFailure) in
            try await resolutions.answer(key, on: client.executor) { stopwatch in
                let chain = UnfurlChain(
                    client: client, configuration: configuration, documents: documents, limit: limit,
                    readsPage: key.readsPage, context: context, stopwatch: stopwatch)
                do throws(KindFailure) {
                    return .success(
                        try await withDeadline(
                            longest, failure: Self.late(start, crowded: stopwatch.waitingFor, after: longest)
                        ) { () async throws(KindFailure) in try await chain.resolve(start) })
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    private static func late(_ start: WebURL, crowded place: WebURL?, after limit: Duration) -> KindFailure {
        place.map { .crowded($0, after: limit) } ?? .timeout("following the redirects", after: limit, at: start)
    }
}

extension WebURL {
    /// Parses the address in a field of a job's input.
    ///
    /// - Throws: `invalid_input` if the text is nil; `invalid_url` if it is not a valid address.
    init(input text: String?, field: String) throws(KindFailure) {
        guard let text else { throw .invalid(field, "is missing; give an address, or let a dependency provide it") }
        do throws(WebURLProblem) { try self.init(parsing: text) } catch { throw .invalidURL(error, field: field) }
    }
}

extension InputRefusal {
    /// Refuses the input of `unfurl` or `enrich` if its `url` is not a valid address.
    init?(ofAddressIn planned: PlannedInput) {
        guard let url = JSONObject(planned.input)?["url"]?.decodedString else { return nil }
        do throws(KindFailure) { _ = try WebURL(input: url, field: "url") } catch {
            self.init(error.message)
            return
        }
        return nil
    }
}
