import Jobs
import NIOSSL

/// Why the certificates that a server sent do not prove who it is.
enum CertificateProblem: Equatable {
    case expired(name: String, at: Timestamp)
    case notYetValid(name: String, until: Timestamp)
    case selfSigned
    case unknownAuthority(String)
    case missingIntermediate(issuer: String)

    /// - Parameters:
    ///   - chain: As the server sent it, its own certificate first.
    ///   - roots: The names of the trusted authorities.
    ///   - hasOwnAuthorities: Whether the administrator added some.
    /// - Returns: Nil when the reason is another one.
    init?(of chain: [PeerCertificate], roots: Set<[UInt8]>, hasOwnAuthorities: Bool, now: Timestamp) {
        guard let own = chain.first else { return nil }
        // The certificates that lead from the server's to an authority, as far as they were sent.
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
        // Nothing tells a missing intermediate from an unknown authority for certain. Certificates of public authorities say
        // where their issuer's is; and where the administrator trusts an authority of his own, it is probably meant.
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
                "the certificate of \(name) is valid only from \(Self.day(moment)); check the clock here, or wait until then"
            )
        case .selfSigned:
            self = .tls(
                .tlsSelfSigned, url,
                "the server's certificate is signed by itself and not by an authority; "
                    + "the administrator can add it to network.authorities")
        case .unknownAuthority(let issuer):
            self = .tls(
                .tlsUnknownAuthority, url,
                "the authority that signed the server's certificate, \(issuer), is not trusted here; "
                    + "the administrator can add it to network.authorities")
        case .missingIntermediate(let issuer):
            self = .tls(
                .tlsMissingIntermediate, url,
                "the server does not send the certificate of \(issuer), which signed its own and is not a trusted "
                    + "authority; the server's operator must add it to the chain")
        }
    }

    private static func day(_ moment: Timestamp) -> Substring { moment.iso8601.prefix(10) }

    static func tls(_ reason: Reason, _ url: WebURL, _ fact: String) -> KindFailure {
        KindFailure(reason, "\(url.redacted): \(fact).", url: url)
    }
}
