import Foundation
import NIOSSL
import Programs
import Samples

/// A certificate authority for one test, created with openssl.
package struct TestAuthority {
    /// A certificate and its key, as PEM files.
    package struct Identity {
        package let certificate: String
        package let key: String

        /// A server that sends this certificate and, if given, the intermediate ones.
        package func server(
            chain: [Identity] = [], _ change: (inout TLSConfiguration) -> Void = { _ in }
        ) throws -> NIOSSLContext {
            let certificates = try ([self] + chain).flatMap { try NIOSSLCertificate.fromPEMFile($0.certificate) }
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: certificates.map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
            change(&configuration)
            return try NIOSSLContext(configuration: configuration)
        }
    }

    package struct Failure: Error {
        var arguments: [String]
        var errors: String
    }

    /// Validity periods in openssl's format.
    package static let longAgo = (from: "20200101000000Z", until: "20210101000000Z")
    package static let now = (from: "20200101000000Z", until: "20991231235959Z")
    package static let farAhead = (from: "20980101000000Z", until: "20991231235959Z")

    package let folder: String
    package let root: Identity

    package static func with<T>(_ body: (TestAuthority) async throws -> T) async throws -> T {
        try await withFolder { folder in
            try configuration(in: folder).write(toFile: folder + "/ca.cnf", atomically: true, encoding: .utf8)
            try "".write(toFile: folder + "/index", atomically: true, encoding: .utf8)
            return try await body(TestAuthority(folder: folder, root: try await selfSigned("root", in: folder)))
        }
    }

    /// A certificate that is its own issuer.
    package static func selfSigned(_ name: String, host: String? = nil, in folder: String) async throws -> Identity {
        let identity = Identity(certificate: "\(folder)/\(name).pem", key: "\(folder)/\(name).key")
        try await openssl(
            ["req", "-x509", "-days", "2"] + newKey(identity, name, in: folder)
                + (host.map { ["-addext", "subjectAltName=\($0)"] }
                    ?? ["-addext", "basicConstraints=critical,CA:TRUE"]) + ["-out", identity.certificate])
        return identity
    }

    /// - Parameter host: The value of `subjectAltName`, such as `DNS:localhost`; nil for an authority.
    package func issue(
        _ name: String, host: String?, by issuer: Identity? = nil, valid: (from: String, until: String) = now
    ) async throws -> Identity {
        let identity = Identity(certificate: "\(folder)/\(name).pem", key: "\(folder)/\(name).key")
        let issuer = issuer ?? root
        let request = "\(folder)/\(name).csr"
        try await Self.openssl(
            ["req", "-new"] + Self.newKey(identity, name, in: folder)
                + ["-addext", host.map { "subjectAltName=\($0)" } ?? "basicConstraints=critical,CA:TRUE"]
                + ["-out", request])
        try await Self.openssl([
            "ca", "-batch", "-notext", "-config", folder + "/ca.cnf", "-cert", issuer.certificate, "-keyfile",
            issuer.key, "-startdate", valid.from, "-enddate", valid.until, "-in", request, "-out",
            identity.certificate,
        ])
        return identity
    }

    private static func newKey(_ identity: Identity, _ name: String, in folder: String) -> [String] {
        [
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", folder + "/ca.cnf",
            "-subj", "/CN=\(name)", "-keyout", identity.key,
        ]
    }

    private static func openssl(_ arguments: [String]) async throws {
        let (status, _, errors) = try await ChildProcess.run("openssl", arguments)
        guard status == .exited(0) else { throw Failure(arguments: arguments, errors: errors) }
    }

    private static func configuration(in folder: String) -> String {
        """
        [ca]
        default_ca = authority
        [authority]
        new_certs_dir = \(folder)
        database = \(folder)/index
        rand_serial = yes
        default_md = sha256
        policy = any
        unique_subject = no
        copy_extensions = copy
        [any]
        commonName = supplied
        [req]
        distinguished_name = name
        [name]

        """
    }
}
