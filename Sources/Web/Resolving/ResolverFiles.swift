import CCAres
import Glibc
import WebSyntax

/// The settings for name lookups from `/etc/hosts`, `/etc/resolv.conf` and `/etc/nsswitch.conf`.
///
/// Unknown words are ignored, as in the C library. In the `hosts:` line of `nsswitch.conf`, `files` and `dns` are
/// supported. `resolve` means the same as `dns`, since systemd-resolved enters its own name server in `resolv.conf`.
/// Other sources (`mdns4_minimal`, `myhostname`, `ldap`) and conditions in brackets are ignored.
struct ResolverFiles: Sendable {
    struct Paths: Sendable {
        var hosts = "/etc/hosts"
        var resolver = "/etc/resolv.conf"
        var sources = "/etc/nsswitch.conf"
        /// The port of the name servers. Tests use another port, since they may not bind port 53.
        var port: UInt16 = 53
    }

    enum Source: Sendable { case files, servers }

    /// A value that changes when one of the files changes.
    struct Stamp: Hashable, Sendable {
        private struct Identity: Hashable, Sendable {
            var device: UInt64
            var inode: UInt64
            var size: Int64
            var seconds: Int
            var nanoseconds: Int
        }

        private let identities: [Identity?]

        init(_ paths: Paths) {
            identities = [paths.hosts, paths.resolver, paths.sources].map { path in
                var status = stat()
                guard stat(path, &status) == 0 else { return nil }
                return Identity(
                    device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
                    seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
            }
        }
    }

    private var hosts: [String: [IPAddress]] = [:]
    private(set) var sources: [Source] = [.files, .servers]
    /// The domains that are appended to a name.
    private(set) var search: [String] = []
    /// Names with at least this many dots are first looked up unchanged.
    private(set) var dots = 1
    /// How long to wait for a server's answer before the first repetition. Default: 2 s.
    private(set) var timeout: Duration = .seconds(2)
    /// How many times each server is asked. Default: 3.
    private(set) var attempts = 3
    private(set) var usesTCP = false
    private(set) var rotates = false

    init(_ paths: Paths) {
        self.init(
            hosts: Self.text(in: paths.hosts), resolver: Self.text(in: paths.resolver),
            sources: Self.text(in: paths.sources))
    }

    init(hosts: String, resolver: String, sources: String) {
        readHosts(hosts)
        readResolver(resolver)
        readSources(sources)
    }

    /// The addresses that the hosts file has for a name.
    func addresses(of name: String) -> [IPAddress] { hosts[name] ?? [] }

    /// The names to ask for, in order (`search` and `options ndots:` of `resolv.conf`).
    func candidates(for name: String) -> [String] {
        let longer = search.map { "\(name).\($0)" }
        return name.utf8.count { $0 == UInt8(ascii: ".") } >= dots ? [name] + longer : longer + [name]
    }

    private mutating func readHosts(_ text: String) {
        for line in Self.lines(text) {
            guard let first = line.first, let address = IPAddress(first) else { continue }
            for name in line.dropFirst() {
                let name = name.lowercased()
                if hosts[name]?.contains(address) != true { hosts[name, default: []].append(address) }
            }
        }
    }

    private mutating func readResolver(_ text: String) {
        for line in Self.lines(text) {
            switch line.first {
            // If there are several of these lines, the last one counts.
            case "search", "domain":
                search = line.dropFirst().prefix(line.first == "domain" ? 1 : Self.maxSearch).compactMap {
                    let name = $0.hasSuffix(".") ? String($0.dropLast()) : String($0)
                    return name.isEmpty ? nil : name.lowercased()
                }
            case "options": for option in line.dropFirst() { readOption(option) }
            default: break
            }
        }
    }

    private mutating func readOption(_ option: Substring) {
        let parts = option.split(separator: ":", maxSplits: 1)
        let number = parts.count == 2 ? Int(parts[1]) : nil
        switch (parts.first, number) {
        case ("ndots", let number?): dots = min(max(number, 0), 15)
        case ("timeout", let number?): timeout = .seconds(min(max(number, 1), 30))
        case ("attempts", let number?): attempts = min(max(number, 1), 5)
        case ("use-vc", nil): usesTCP = true
        case ("rotate", nil): rotates = true
        default: break
        }
    }

    private mutating func readSources(_ text: String) {
        guard let line = Self.lines(text).first(where: { $0.first == "hosts:" }) else { return }
        var found: [Source] = []
        for word in line.dropFirst() {
            let source: Source? =
                switch word {
                case "files": .files
                case "dns", "resolve": .servers
                default: nil
                }
            if let source, !found.contains(source) { found.append(source) }
        }
        sources = found
    }

    private static let maxSearch = 6
    /// Longer files are truncated: even a long list of blocked hosts is shorter.
    private static let maxBytes = 8 << 20

    /// The words of each line, without comments.
    private static func lines(_ text: String) -> some Sequence<[Substring]> {
        text.utf8.split(separator: UInt8(ascii: "\n")).lazy.map { line in
            line.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: ";") }
                .split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
                .map { Substring($0) }
        }
    }

    /// The text of a file; empty if it cannot be read. The defaults then apply, as in the C library.
    private static func text(in path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        var text: [UInt8] = []
        while text.count < maxBytes {
            let count = fread(&bytes, 1, bytes.count, file)
            if count == 0 { break }
            text += bytes[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
