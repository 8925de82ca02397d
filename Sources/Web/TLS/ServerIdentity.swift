import NIOSSL
import WebSyntax

/// Checks that a certificate names the requested host (RFC 9525): its subject alternative names must contain the host's
/// name or IP address.
///
/// NIOSSL's own check is switched off, because it also accepts a certificate for the peer's IP address. A proxy, or a
/// server that a forged DNS answer leads to, could then impersonate any host with a certificate for its own address.
enum ServerIdentity {
    static func certificate(_ certificate: NIOSSLCertificate, names host: String) -> Bool {
        let names = certificate._subjectAlternativeNames()
        if let address = IPAddress(host) {
            return names.contains { $0.nameType == .ipAddress && $0.contents.elementsEqual(address.bytes) }
        }
        return names.contains { $0.nameType == .dnsName && matches(Array($0.contents), host) }
    }

    /// Whether a name in a certificate matches the requested host.
    ///
    /// - Parameters:
    ///   - pattern: The name in the certificate. If its first label is `*`, that label matches any single label;
    ///     elsewhere `*` is an ordinary character.
    ///   - host: The requested host in lower case, without a trailing dot.
    static func matches(_ pattern: [UInt8], _ host: String) -> Bool {
        var wanted = labels(Array(host.utf8))[...]
        var named = labels(pattern)[...]
        if named.count > 1, named.last?.isEmpty == true { named.removeLast() }
        guard named.count == wanted.count, !wanted.contains(where: \.isEmpty) else { return false }
        if named.count > 1, named.first?.elementsEqual("*".utf8) == true {
            named.removeFirst()
            wanted.removeFirst()
        }
        return named.elementsEqual(wanted)
    }

    private static func labels(_ name: [UInt8]) -> [ArraySlice<UInt8>] {
        name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    }
}

extension IPAddress {
    /// The address in network byte order.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .v4(let value): withUnsafeBytes(of: value.bigEndian, Array.init)
        case .v6(let high, let low):
            withUnsafeBytes(of: high.bigEndian, Array.init) + withUnsafeBytes(of: low.bigEndian, Array.init)
        }
    }
}
