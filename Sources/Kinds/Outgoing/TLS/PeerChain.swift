import NIOCore
import NIOSSL
import Synchronization

/// Gets the certificates that a server sends, without trusting them and without sending it anything but the handshake.
///
/// The TLS library only says that they were refused. So the server is connected to once more, with a TLS handler that keeps
/// the certificates and refuses them all.
final class PeerChain: Sendable {
    private let certificates = Mutex<[NIOSSLCertificate]>([])

    /// Makes a handler that fails its handshake and keeps the certificates it saw.
    ///
    /// - Parameter host: Nil where the address names no host.
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
        // Nothing is verified by these, and the system's take long to load.
        configuration.trustRoots = .certificates([])
        return try NIOSSLContext(configuration: configuration)
    }
}
