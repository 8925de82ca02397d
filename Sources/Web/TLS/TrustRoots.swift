import Glibc
import NIOSSL
import Synchronization
import WebSyntax

/// The trusted authorities, to which a server's certificate must lead. Each client loads them once, since loading them
/// costs more than opening a connection.
final class TrustRoots: Sendable {
    private let extraFile: String?
    private let loaded = Mutex<Result<Loaded, KindFailure>?>(nil)

    private struct Loaded {
        let configuration: TLSConfiguration
        let context: NIOSSLContext
    }

    init(extraFile: String?) { self.extraFile = extraFile }

    /// Returns the TLS settings: TLS 1.2 or newer, and a certificate that leads to a trusted authority.
    /// ``ServerIdentity`` checks the names in the certificate.
    ///
    /// The first call reads the certificate files and blocks for some milliseconds.
    ///
    /// - Throws: `tls_failed` if the certificates cannot be loaded. The next call tries again.
    func context() throws(KindFailure) -> NIOSSLContext { try get().context }

    private func get() throws(KindFailure) -> Loaded {
        let result = loaded.withLock { loaded in
            if let loaded { return loaded }
            let fresh = Result { () throws(KindFailure) in try load() }
            if case .success = fresh { loaded = fresh }
            return fresh
        }
        return try result.get()
    }

    /// Returns the DER-encoded names of the trusted authorities, and whether the administrator has added any.
    func authorities() throws(KindFailure) -> (names: Set<[UInt8]>, hasOwn: Bool) {
        let configuration = try get().configuration
        var certificates: [NIOSSLCertificate] = []
        if case .certificates(let some) = configuration.trustRoots { certificates += some }
        for case .certificates(let some) in configuration.additionalTrustRoots { certificates += some }
        return (Set(certificates.compactMap { PeerCertificate($0)?.subject }), extraFile != nil)
    }

    private func load() throws(KindFailure) -> Loaded {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .noHostnameVerification
        configuration.applicationProtocols = ["http/1.1"]
        if let system = Self.systemFiles.first(where: { access($0, R_OK) == 0 }) {
            configuration.trustRoots = .certificates(try Self.certificates(in: system))
        }
        if let extraFile {
            configuration.additionalTrustRoots = [.certificates(try Self.certificates(in: extraFile))]
        }
        do {
            return Loaded(configuration: configuration, context: try NIOSSLContext(configuration: configuration))
        } catch {
            throw KindFailure(
                .tlsFailed,
                "TLS cannot be set up with this machine's trusted certificates; the administrator must correct them.")
        }
    }

    fileprivate static func certificates(in path: String) throws(KindFailure) -> [NIOSSLCertificate] {
        do {
            return try NIOSSLCertificate.fromPEMFile(path)
        } catch {
            throw KindFailure(
                .tlsFailed,
                "the certificates in \(path.printable) cannot be read; the administrator must correct the file or its name."
            )
        }
    }

    private static let systemFiles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]
}

/// Whether the file can be used as ``OutgoingConfiguration/certificateFile``: it exists and contains PEM certificates.
/// The call blocks while it reads the file.
public func areCertificates(inFile path: String) -> Bool {
    // The caller reports the problem, and does not need the cause.
    (try? TrustRoots.certificates(in: path)) != nil
}
