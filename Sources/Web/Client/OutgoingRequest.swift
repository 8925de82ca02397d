import NIOCore
import NIOHTTP1
import WebSyntax

/// A request to send through ``OutgoingClient``.
package struct OutgoingRequest: Sendable {
    package var method: HTTPMethod
    package var url: WebURL
    package var headers: HTTPHeaders
    package var body: OutgoingBody?
    /// Whether the host's limits on concurrency and pace apply. They protect hosts that did not ask for the requests,
    /// so uploads are exempt.
    package var isGentle: Bool
    /// Receives the interim responses (1xx).
    package var interim: InterimAnswers?

    package init(
        method: HTTPMethod, url: WebURL, headers: HTTPHeaders = [:], body: OutgoingBody? = nil, isGentle: Bool = true,
        interim: InterimAnswers? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.isGentle = isGentle
        self.interim = interim
    }
}

extension OutgoingRequest {
    /// Builds the request's head, with the `Host`, `User-Agent` and `Content-Length` fields added.
    ///
    /// - Throws: `invalid_input` if a header's name or value is not allowed in HTTP.
    func head(userAgent: String) throws(KindFailure) -> HTTPRequestHead {
        var headers = headers
        if !headers.contains(name: "host") { headers.add(name: "host", value: url.hostHeader) }
        headers.replaceOrAdd(name: "user-agent", value: userAgent)
        headers.remove(name: "transfer-encoding")
        let length = body?.length ?? 0
        if length > 0 || [.POST, .PUT, .PATCH].contains(method) {
            headers.replaceOrAdd(name: "content-length", value: "\(length)")
        }
        guard headers.allSatisfy({ Self.isSound($0.name, $0.value) }) else {
            throw KindFailure(
                .invalidInput, "A header has a name or a value that HTTP does not allow; correct `headers`.", url: url)
        }
        return HTTPRequestHead(version: .http1_1, method: method, uri: url.requestTarget, headers: headers)
    }

    /// Whether every recipient parses the header field in the same way (RFC 9110, 5.5).
    private static func isSound(_ name: String, _ value: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy(FieldName.isToken)
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
