import NIOCore
import NIOHTTP1
import NIOPosix
import OperationTypes
import WebSyntax

extension KindFailure: CancellationFailure {
    public static var cancelled: KindFailure {
        KindFailure(.cancelled, "The work was cancelled; enqueue it again if you still need it.", isRetryable: true)
    }
}

extension KindFailure {
    package static func invalidURL(_ problem: WebURLProblem, field: String) -> KindFailure {
        KindFailure(.invalidURL, "\(field): \(problem). Give a full http or https address.")
    }

    package static func timeout(_ what: String, after limit: Duration, at url: WebURL?) -> KindFailure {
        KindFailure(
            .timeout,
            "\(url.map { "\($0.redacted): " } ?? "")\(what) took longer than \(limit); try again, or raise the limit.",
            isRetryable: true, url: url)
    }

    /// The failure for work whose turn at a host did not come in time. The host is not slow, but other jobs keep it
    /// busy.
    package static func crowded(_ url: WebURL, after limit: Duration) -> KindFailure {
        KindFailure(
            .timeout, at: url,
            "the job waited \(limit) for its turn at this host, which other jobs keep busy; try again later, "
                + "or raise `timeout`.", isRetryable: true)
    }

    /// Turns an error of the HTTP client into a failure. The error's own text is not used, since it may quote headers.
    init(_ error: any Error, at url: WebURL, limits: OutgoingLimits) {
        switch error {
        case let failure as KindFailure: self = failure
        case is CancellationError: self = .cancelled
        case let problem as WireProblem: self.init(problem, at: url, limits: limits)
        case let failed as Connector.Failed: self.init(failed.cause, at: url, limits: limits)
        case let problem as ConnectionError: self.init(problem, at: url, limits: limits)
        case is NIOConnectionError, ChannelError.connectTimeout, ChannelError.connectPending:
            self = .connectFailed(url)
        case let error as IOError where [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode):
            self = .connectFailed(url)
        case is ChannelError: self = .connectionLost(url)
        case is IOError: self = .connectionLost(url)
        default:
            if let problem = TLSError(error) {
                self.init(problem, at: url)
                return
            }
            let type = String(reflecting: Swift.type(of: error))
            self.init(
                .connectionLost, "\(url.redacted): the HTTP request failed (\(type)); try again.", isRetryable: true,
                url: url)
        }
    }

    private init(_ problem: ConnectionError, at url: WebURL, limits: OutgoingLimits) {
        switch problem {
        case .connectTimeout: self = .connectFailed(url, by: "could not connect to the server within \(limits.connect)")
        case .refused: self = .connectFailed(url)
        case .secureTimeout:
            self = .connectFailed(url, by: "could not set up a TLS connection to the server within \(limits.connect)")
        case .proxyTimeout: self = .timeout("connecting through the proxy", after: limits.connect, at: url)
        case .proxyUnreachable, .proxyRefused: self = .proxyRefused(url)
        case .proxyWantsPassword: self = .proxyWantsPassword(url)
        case .idle: self = .timeout("waiting for the server", after: limits.idle, at: url)
        case .closed, .closedBefore, .bodyLength: self = .connectionLost(url)
        }
    }

    package static func connectFailed(_ url: WebURL, by fact: String = "could not connect to the server") -> KindFailure
    {
        KindFailure(
            .connectFailed, at: url,
            "\(fact); check that it is running and reachable from here, or try again later.", isRetryable: true)
    }

    package static func connectionLost(_ url: WebURL) -> KindFailure {
        KindFailure(
            .connectionLost, at: url,
            "the server closed the connection before its response was complete; try again.", isRetryable: true)
    }

    package static func headersTooLarge(_ url: WebURL, limit: Int) -> KindFailure {
        KindFailure(
            .headersTooLarge, at: url, "the response headers are larger than \(limit) bytes; use another address.")
    }

    package static func alreadyExists(_ url: WebURL) -> KindFailure {
        KindFailure(
            .alreadyExists, at: url,
            "content already exists at this address, and `create_only` forbids replacing it; use another address.",
            status: 412)
    }

    /// The failure for a response with a status that is not a success. The status decides whether a retry may help.
    package static func status(_ response: ResponseHead, at url: WebURL) -> KindFailure {
        refusal(response, at: url).met(at: response.address)
    }

    private static func refusal(_ response: ResponseHead, at url: WebURL) -> KindFailure {
        let status = response.status
        let isSigned =
            url.query?.split(separator: "&").contains { member in
                let name = member.prefix { $0 != "=" }.lowercased()
                return ["x-amz-signature", "signature", "sig", "x-goog-signature"].contains(name)
            } ?? false
        switch status {
        case 401, 403:
            return isSigned
                ? KindFailure(
                    .urlExpired, at: url,
                    "the server refused the signed address (\(status)); create a new one.", status: status)
                : KindFailure(
                    .unauthorized, at: url,
                    "the server refused access (\(status)); the address is not public. For an upload, check the credential and its permissions.",
                    status: status)
        case 408, 425, 429, 500, 502, 503, 504:
            return KindFailure(
                .httpStatus, at: url, "the server answered \(status); try again later.",
                isRetryable: true, status: status, retryAfter: response.retryAfter)
        case 413:
            return KindFailure(
                .tooLarge, at: url,
                "the content is larger than the server accepts (413); raise the server's limit, or send less.",
                status: status)
        default:
            return KindFailure(
                .httpStatus, at: url, "the server answered \(status); check the address.", status: status)
        }
    }
}
