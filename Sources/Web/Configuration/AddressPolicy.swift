import WebSyntax

/// The hosts, addresses and ports that the client may connect to.
///
/// An address is refused if a special-purpose registry lists it (RFC 6890 and its successors: loopback, private,
/// link-local, shared, multicast, documentation, reserved, …), or if it is an IPv6 address that represents an IPv4
/// address by mapping or translation. A port is refused if it is not in ``ports``. An ``AllowRule`` can permit a
/// refused address and a refused port.
public struct AddressPolicy: Sendable, Hashable {
    /// The permitted ports of public addresses. Default: 80, 443, 8080 and 8443.
    public var ports: [UInt16]
    /// The rules of the administrator, which permit further hosts, addresses and ports. Default: none.
    public var allow: [AllowRule]

    /// Creates a policy from the permitted ports and the administrator's rules.
    public init(ports: [UInt16] = [80, 443, 8080, 8443], allow: [AllowRule] = []) {
        self.ports = ports
        self.allow = allow
    }

    enum Verdict: Hashable, Sendable {
        case permitted
        /// Only a rule of the administrator permits the connection.
        case permittedByRule
        case addressRefused
        case portRefused
    }

    func judge(host: String, address: IPAddress, port: UInt16) -> Verdict {
        let isSpecial = Self.special.contains { $0.contains(address) }
        if !isSpecial, ports.contains(port) { return .permitted }
        if allow.contains(where: { $0.matches(host: host, address: address, port: port) }) { return .permittedByRule }
        return isSpecial ? .addressRefused : .portRefused
    }

    /// The networks in the IANA registries of special-purpose IPv4 and IPv6 addresses and of multicast addresses, as
    /// they were in 2025.
    static let special: [IPNetwork] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        // Everything outside 2000::/3 is unassigned, local, mapped, translated or multicast.
        "::/3", "4000::/2", "8000::/1",
        "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    ].compactMap { IPNetwork($0) }
}

/// A rule with which the administrator permits connections. Every part that the rule contains must match.
public struct AllowRule: Sendable, Hashable, CustomStringConvertible {
    /// A host name in lower case; nil if the rule contains a network. `*.example.org` matches every name below
    /// `example.org`.
    public let host: String?
    /// A network; nil if the rule contains a host name.
    public let network: IPNetwork?
    /// A port; nil if the rule applies to every port.
    public let port: UInt16?

    /// Parses `HOST`, `NETWORK`, `HOST:PORT` or `NETWORK:PORT`. Returns nil for any other text. An IPv6 network with a
    /// port must be in brackets.
    ///
    /// Examples: `127.0.0.1`, `10.0.0.0/8:8080`, `[fd00::/8]:443`, `nas.example.org:9000`, `*.example.org`.
    public init?(_ text: String) {
        var target = Substring(text)
        var port: UInt16?
        if target.first == "[" {
            guard let end = target.firstIndex(of: "]") else { return nil }
            let rest = target[target.index(after: end)...]
            target = target[target.index(after: target.startIndex)..<end]
            if !rest.isEmpty {
                guard rest.first == ":", let value = UInt16(rest.dropFirst()) else { return nil }
                port = value
            }
            guard let network = IPNetwork(target) else { return nil }
            (self.host, self.network, self.port) = (nil, network, port)
            return
        }
        if target.filter({ $0 == ":" }).count == 1, let colon = target.firstIndex(of: ":") {
            guard let value = UInt16(target[target.index(after: colon)...]) else { return nil }
            port = value
            target = target[..<colon]
        }
        if let network = IPNetwork(target) {
            (self.host, self.network, self.port) = (nil, network, port)
            return
        }
        let name = target.hasPrefix("*.") ? target.dropFirst(2) : target
        guard case .domain(let domain) = WebHost(parsing: String(name)), !domain.isEmpty else { return nil }
        (self.host, self.network, self.port) = (target.hasPrefix("*.") ? "*." + domain : domain, nil, port)
    }

    func matches(host candidate: String, address: IPAddress, port candidatePort: UInt16) -> Bool {
        if let port, port != candidatePort { return false }
        if let network { return network.contains(address) }
        guard let host else { return false }
        return host.hasPrefix("*.") ? candidate.hasSuffix(host.dropFirst()) : candidate == host
    }

    public var description: String {
        let target = host ?? network.map { port != nil && $0.address.bits == 128 ? "[\($0)]" : "\($0)" } ?? ""
        return target + (port.map { ":\($0)" } ?? "")
    }
}
