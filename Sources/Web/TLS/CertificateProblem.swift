import Jobs
import NIOSSL
import WebSyntax

/// The reason why a server's certificates do not prove its identity.
enum CertificateProblem: Equatable {
    case expired(name: String, at: Timestamp)
    case notYetValid(name: String, until: Timestamp)
    case selfSigned
    case unknownAuthority(String)
    case missingIntermediate(issuer: String)

    /// Finds out why the certificates were refused.
    ///
    /// - Parameters:
    ///   - chain: The certificates in the order in which the server sent them, the server's own first.
    ///   - roots: The DER-encoded names of the trusted authorities.
    ///   - hasOwnAuthorities: Whether the administrator has added authorities.
    /// - Returns: Nil if the reason is not one of these cases.
    init?(of chain: [PeerCertificate], roots: Set<[UInt8]>, hasOwnAuthorities: Bool, now: Timestamp) {
        guard let own = chain.first else { return nil }
        // The path from the server's certificate towards an authority, as far as the server sent it.
        var path = [own]
        while let last = path.last, !last.isSelfIssued, path.count <= chain.count,
            let issuer = chain.first(where: { $0.subject == last.issuer })
        {
            path.append(issuer)
        }
        for certificate in path {
            if certificate.validUntil < now {
                self = .expired(name: certificate.subjectName, at: certificate.validUntil)
                return
            }
            if certificate.validFrom > now {
                self = .notYetValid(name: certificate.subjectName, until: certificate.validFrom)
                return
            }
        }
        if own.isSelfIssued {
            self = .selfSigned
            return
        }
        guard let last = path.last, !roots.contains(last.issuer) else { return nil }
        // A missing intermediate cannot be distinguished from an unknown authority with certainty, but there are two
        // signs. A certificate from a public authority says where its issuer's certificate can be downloaded. And if
        // the administrator has added an authority, the server's certificate probably leads to that authority.
        if path.count == 1, own.namesItsIssuersAddress || hasOwnAuthorities {
            self = .missingIntermediate(issuer: last.issuerName)
        } else {
            self = .unknownAuthority(last.issuerName)
        }
    }
}

extension KindFailure {
    init(_ problem: CertificateProblem, at url: WebURL) {
        switch problem {
        case .expired(let name, let moment):
            self = .tls(
                .tlsExpired, url,
                "the certificate of \(name) expired on \(Self.day(moment)); the server's operator must renew it")
        case .notYetValid(let name, let moment):
            self = .tls(
                .tlsNotYetValid, url,
                "the certificate of \(name) is not valid before \(Self.day(moment)); check the clock of this machine, or wait until then"
            )
        case .selfSigned:
            self = .tls(
                .tlsSelfSigned, url,
                "the server's certificate is self-signed, not signed by an authority; "
                    + "the administrator can add it to network.authorities")
        case .unknownAuthority(let issuer):
            self = .tls(
                .tlsUnknownAuthority, url,
                "the authority that signed the server's certificate, \(issuer), is not trusted here; "
                    + "the administrator can add it to network.authorities")
        case .missingIntermediate(let issuer):
            self = .tls(
                .tlsMissingIntermediate, url,
                "the server does not send the certificate of \(issuer), which signed the server's certificate and is not "
                    + "trusted here; the server's operator must add it to the chain")
        }
    }

    private static func day(_ moment: Timestamp) -> Substring { moment.iso8601.prefix(10) }

    static func tls(_ reason: Reason, _ url: WebURL, _ fact: String) -> KindFailure {
        KindFailure(reason, at: url, "\(fact).")
    }
}
