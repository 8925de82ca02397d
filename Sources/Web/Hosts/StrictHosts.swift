import Glibc
import NIOHTTP1
import Synchronization
import WebSyntax

/// Remembers, in memory, the hosts that asked with `Strict-Transport-Security` to be reached only by https.
final class StrictHosts: Sendable {
    /// Whether each host's subdomains are included. Times are in seconds since 1970.
    private let entries = Mutex(ExpiringCache<String, Bool, Int64>(capacity: 4096))

    /// Learns from a response's header. Headers received over http and headers from IP addresses are ignored.
    func learn(from headers: HTTPHeaders, of url: WebURL) {
        guard url.scheme == .https, case .domain = url.host, let text = headers["strict-transport-security"].first
        else { return }
        learn(text, of: url.host.lookupName, now: Int64(time(nil)))
    }

    func learn(_ text: String, of host: String, now: Int64) {
        let directives = text.split(separator: ";").map { $0.trimmingSpaces.lowercased() }
        guard let age = directives.first(where: { $0.hasPrefix("max-age") }) else { return }
        let digits = age.dropFirst("max-age".count).filter { $0 != "=" && $0 != "\"" && $0 != " " }
        guard let seconds = Int64(digits), seconds >= 0 else { return }
        entries.withLock { entries in
            if seconds == 0 { return entries.remove(host) }
            entries.keep(
                directives.contains("includesubdomains"), of: host, until: now + min(seconds, 1 << 32), now: now)
        }
    }

    /// - Returns: The URL with https; nil if the URL already uses https or its host has not asked for it.
    func upgrade(_ url: WebURL, now: Int64 = Int64(time(nil))) -> WebURL? {
        guard url.scheme == .http, case .domain = url.host else { return nil }
        let isStrict = entries.withLock { entries in
            if entries.isEmpty { return false }
            var name = Substring(url.host.lookupName)
            var isExact = true
            while true {
                if let includesSubdomains = entries.value(of: String(name), at: now), isExact || includesSubdomains {
                    return true
                }
                guard let dot = name.firstIndex(of: ".") else { return false }
                name = name[name.index(after: dot)...]
                isExact = false
            }
        }
        guard isStrict else { return nil }
        var secure = url
        secure.scheme = .https
        if secure.explicitPort == 443 { secure.explicitPort = nil }
        return secure
    }
}
