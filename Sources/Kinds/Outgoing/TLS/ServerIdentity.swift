import NIOSSL

/// Whether a certificate names the host that the client asked for (RFC 9525): the host's name or its address must be among
/// the alternative names.
///
/// NIOSSL's own check is switched off, because it also accepts a certificate that names the address of the other end. So a
/// proxy, or any server that a forged DNS answer leads to, could pass for every host with a certificate for its own address.
enum ServerIdentity {
    static func certificate(_ certificate: NIOSSLCertificate, names host: String) -> Bool {
        let names = certificate._subjectAlternativeNames()
        if let address = IPAddress(host) {
            return names.contains { $0.nameType == .ipAddress && $0.contents.elementsEqual(address.bytes) }
        }
        return names.contains { $0.nameType == .dnsName && matches(Array($0.contents), host) }
    }

    /// - Parameters:
    ///   - pattern: A star as its first label matches any one label; anywhere else it is an ordinary character.
    ///   - host: In lower case, without a trailing dot.
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
    /// In network byte order.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .v4(let value): withUnsafeBytes(of: value.bigEndian, Array.init)
        case .v6(let high, let low):
            withUnsafeBytes(of: high.bigEndian, Array.init) + withUnsafeBytes(of: low.bigEndian, Array.init)
        }
    }
}
