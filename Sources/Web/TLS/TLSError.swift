import NIOSSL
import WebSyntax

/// The reason why no secure connection was set up, as far as the TLS library's error shows.
enum TLSError: Error, Equatable {
    /// The certificates do not lead to a trusted authority; ``CertificateProblem`` gives the details.
    case untrusted
    case wrongHost
    /// The client and the server have no TLS version, cipher or application protocol in common.
    case nothingInCommon
    /// The server does not speak TLS.
    case notTLS
    /// The connection ended during the handshake.
    case cutOff
    /// The connection ended without a TLS close_notify; an attacker may have cut it off.
    case truncated
    case other

    init?(_ error: any Error) {
        switch error {
        case let problem as TLSError: self = problem
        case NIOSSLError.uncleanShutdown: self = .truncated
        case NIOSSLError.handshakeFailed(let error): self.init(handshake: error)
        case let error as BoringSSLError: self.init(handshake: error)
        case is NIOSSLError, is NIOSSLExtraError: self = .other
        default: return nil
        }
    }

    private init(handshake error: BoringSSLError) {
        guard case .sslError(let stack) = error else {
            self = .cutOff
            return
        }
        // These errors differ only in their text.
        let text = stack.map(\.description).joined(separator: "\n")
        func mentions(_ reasons: String...) -> Bool { reasons.contains { text.contains($0) } }
        if mentions("CERTIFICATE_VERIFY_FAILED") {
            self = .untrusted
        } else if mentions("EOF during handshake") {
            self = .cutOff
        } else if mentions(
            "ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL", "ALERT_HANDSHAKE_FAILURE", "NO_APPLICATION_PROTOCOL",
            "ALERT_INSUFFICIENT_SECURITY", "WRONG_CIPHER_RETURNED", "UNKNOWN_CIPHER_RETURNED", "INVALID_ALPN_PROTOCOL")
        {
            self = .nothingInCommon
        } else if mentions("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_RECORD", "UNEXPECTED_MESSAGE") {
            self = .notTLS
        } else {
            self = .other
        }
    }
}

extension KindFailure {
    init(_ problem: TLSError, at url: WebURL) {
        switch problem {
        case .wrongHost:
            self = .tls(
                .tlsWrongHost, url,
                "the server's certificate is not valid for \(url.host); check the address, or the server's certificate"
            )
        case .nothingInCommon:
            self = .tls(
                .tlsNothingInCommon, url,
                "the server and Halyard have no TLS version, cipher or protocol in common (Halyard offers TLS 1.2 and 1.3 "
                    + "with HTTP/1.1), or the server requires a client certificate; the server's operator must change that"
            )
        case .notTLS:
            self = .tls(
                .tlsFailed, url, "port \(url.port) does not speak TLS; check the address, or use http")
        case .cutOff:
            self = .connectFailed(url, by: "the server closed the connection during the TLS handshake")
        case .truncated: self = .connectionLost(url)
        case .untrusted, .other:
            self = .tls(
                .tlsFailed, url,
                "could not set up a TLS connection; check the server's certificate and its TLS settings")
        }
    }
}
