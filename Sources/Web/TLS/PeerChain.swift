import NIOCore
import NIOSSL
import Synchronization

/// Records the certificates that a server sends. It trusts none of them, and sends nothing but the TLS handshake.
///
/// The TLS library reports only that it refused the certificates. So the client connects once more, with a TLS handler
/// that records the certificates and refuses them all.
final class PeerChain: Sendable {
    private let certificates = Mutex<[NIOSSLCertificate]>([])

    /// Creates a handler that records the certificates and then fails the handshake.
    ///
    /// - Parameter host: The server name; nil if the URL gives the server as an IP address.
    func handler(for host: String?) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(
            context: try Self.context.get(), serverHostname: host,
            customVerificationCallback: { [self] chain, promise in
                certificates.withLock { $0 = chain }
                promise.succeed(.failed)
            })
    }

    var seen: [PeerCertificate] { certificates.withLock { $0 }.compactMap(PeerCertificate.init) }

    private static let context = Result {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        // The handler refuses every certificate, so it needs no roots, and loading the system's roots is slow.
        configuration.trustRoots = .certificates([])
        return try NIOSSLContext(configuration: configuration)
    }
}
