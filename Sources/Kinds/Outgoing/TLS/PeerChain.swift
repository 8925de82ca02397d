import NIOCore
import NIOSSL
import Synchronization

/// Records the certificates that a server sends, without trusting them and without sending anything but the handshake.
///
/// The TLS library reports only that certificates were refused. So the client connects once more, with a TLS handler
/// that records the certificates and refuses them all.
final class PeerChain: Sendable {
    private let certificates = Mutex<[NIOSSLCertificate]>([])

    /// Creates a handler that records the certificates and fails its handshake.
    ///
    /// - Parameter host: The server name; nil if the server is given as an IP address.
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
        // Every certificate is refused, so no roots are needed; loading the system's takes long.
        configuration.trustRoots = .certificates([])
        return try NIOSSLContext(configuration: configuration)
    }
}
