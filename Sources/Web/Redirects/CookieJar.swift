import Glibc
import NIOHTTP1
import WebSyntax

/// The cookies of one chain of redirects. They exist only in memory and only during the chain.
///
/// A cookie is sent to the host that set it. If its `Domain` attribute names this host or a parent domain with at least
/// two labels, the cookie is sent to all hosts of that domain. Expiry counts only as deletion (`Max-Age=0`, or
/// `Expires` in the past), since a chain takes only seconds.
package struct CookieJar: Sendable {
    private struct Cookie: Sendable {
        var name: String
        var value: String
        var domain: String
        var isHostOnly: Bool
        var path: String
        var isSecure: Bool
    }

    private var cookies: [Cookie] = []

    mutating func take(from response: OutgoingResponse) {
        for line in response.headers["set-cookie"].prefix(50) { take(line, from: response.url) }
    }

    mutating func take(_ line: String, from url: WebURL, now: Int64 = Int64(time(nil))) {
        guard line.utf8.count <= 4096, cookies.count < 100 else { return }
        let parts = line.split(separator: ";", omittingEmptySubsequences: false).map(\.trimmingSpaces)
        guard let equals = parts[0].firstIndex(of: "=") else { return }
        let name = parts[0][..<equals].trimmingSpaces
        let value = parts[0][parts[0].index(after: equals)...].trimmingSpaces
        guard !name.isEmpty, (name + value).utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F || $0 == 0x20 }) else { return }
        let host = url.host.lookupName
        var cookie = Cookie(
            name: name, value: value, domain: host, isHostOnly: true, path: Self.folder(of: url.path), isSecure: false)
        var isDeleted = false
        var hasMaxAge = false
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            let argument = pair.count == 2 ? pair[1] : ""
            switch pair.first?.lowercased() {
            case "domain":
                let domain = (argument.hasPrefix(".") ? String(argument.dropFirst()) : argument).lowercased()
                if domain.isEmpty { break }
                guard case .domain = url.host, host == domain || host.hasSuffix("." + domain), domain.contains(".")
                else { return }
                cookie.domain = domain
                cookie.isHostOnly = false
            case "path": if argument.hasPrefix("/") { cookie.path = argument }
            case "secure": cookie.isSecure = true
            case "max-age":
                guard let age = Int(argument) else { break }
                (isDeleted, hasMaxAge) = (age <= 0, true)
            case "expires" where !hasMaxAge: isDeleted = HTTPDate.parse(argument).map { $0 <= now } ?? isDeleted
            default: break
            }
        }
        if cookie.isSecure, url.scheme != .https { return }
        cookies.removeAll { $0.name == cookie.name && $0.domain == cookie.domain && $0.path == cookie.path }
        if !isDeleted { cookies.append(cookie) }
    }

    package func header(for url: WebURL) -> String? {
        let host = url.host.lookupName
        let fitting = cookies.filter { cookie in
            (host == cookie.domain || !cookie.isHostOnly && host.hasSuffix("." + cookie.domain))
                && (!cookie.isSecure || url.scheme == .https)
                && (url.path == cookie.path
                    || url.path.hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/"))
        }
        return fitting.isEmpty ? nil : fitting.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
