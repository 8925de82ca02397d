import WebSyntax

/// The reason why a response is refused.
enum WireProblem: Error, Equatable {
    /// The bytes are not an HTTP/1 response.
    case notHTTP
    /// The status is below 100, or 101.
    case status(Int)
    case tooManyInterimHeads
    case headTooLarge
    /// `Content-Length` is not a number, or has several different values.
    case contentLength
    /// The transfer coding is not chunked.
    case transferCoding
    /// The head announces chunks, but the body does not consist of valid chunks.
    case chunk
    /// Bytes arrived while no request was in progress.
    case unexpectedData
    /// Bytes arrived directly after a response, when the next request may already have been sent.
    case surplus
}

extension KindFailure {
    init(_ problem: WireProblem, at url: WebURL, limits: OutgoingLimits) {
        switch problem {
        case .notHTTP: self = .protocolError(url, "the response is not HTTP")
        case .status(101):
            self = .protocolError(
                url, "the server switched protocols (101), which the request did not ask for", status: 101)
        case .status(let status):
            let text = "\(status)"
            let padded = String(repeating: "0", count: max(0, 3 - text.utf8.count)) + text
            self = .protocolError(
                url, "the server answered with status \(padded), which is not a valid HTTP status", status: status)
        case .tooManyInterimHeads:
            self = .protocolError(
                url, "the server sent more than \(AnswerReader.mostInterimHeads) interim responses (1xx)")
        case .headTooLarge: self = .headersTooLarge(url, limit: limits.headerBytes)
        case .contentLength:
            self = .protocolError(
                url, "the response's Content-Length is not a number, or is given several times with different values")
        case .transferCoding:
            self = .protocolError(url, "the response uses a transfer coding other than chunked")
        case .chunk: self = .protocolError(url, "the response body has invalid chunks")
        case .surplus: self = .connectionLost(url)
        case .unexpectedData: self = .protocolError(url, "the server sent data that does not belong to any response")
        }
    }

    static func protocolError(_ url: WebURL, _ fact: String, status: Int? = nil) -> KindFailure {
        KindFailure(.protocolError, at: url, "\(fact); check that the address belongs to a web server.", status: status)
    }
}
