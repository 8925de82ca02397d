import FoundationEssentials
import WebSyntax

/// Extracts a redirect page's target from the page's own address, without sending a request.
enum Wrapper {
    /// How an address contains its target.
    private enum Rule {
        /// In a query parameter.
        case parameter(String)
        /// The whole query.
        case query
        /// Proofpoint's older format (v2): a parameter with `-` instead of `%` and `_` instead of `/`.
        case proofpoint2
        /// Proofpoint's newer format (v3): the target is between `__` and `__;`. Each `*` in it replaces one character,
        /// and `**` with a letter replaces a run of characters. The replaced characters follow in Base64.
        case proofpoint3
        /// In the parameter `u`: `a1` and then the target in Base64.
        case bing
        /// In a path component, after `RU=`.
        case yahoo
        /// In the path: host and path of the target, after `s/` if it uses https (AMP).
        case accelerated
    }

    /// Host, beginning of the path, and rule. The first rule that finds an address wins. A host also matches with
    /// `www.` before it; `*.` matches all subdomains.
    private static let rules: [(host: String, path: String, rule: Rule)] = [
        ("google.com", "/url", .parameter("q")), ("google.com", "/url", .parameter("url")),
        ("google.com", "/amp/", .accelerated),
        ("cdn.ampproject.org", "/", .accelerated), ("*.cdn.ampproject.org", "/", .accelerated),
        ("l.facebook.com", "/l.php", .parameter("u")),
        ("lm.facebook.com", "/l.php", .parameter("u")), ("facebook.com", "/l.php", .parameter("u")),
        ("l.messenger.com", "/l.php", .parameter("u")), ("l.instagram.com", "/", .parameter("u")),
        ("l.threads.net", "/", .parameter("u")), ("l.threads.com", "/", .parameter("u")),
        ("*.safelinks.protection.outlook.com", "/", .parameter("url")),
        ("youtube.com", "/redirect", .parameter("q")),
        ("steamcommunity.com", "/linkfilter", .parameter("u")),
        ("steamcommunity.com", "/linkfilter", .parameter("url")),
        ("out.reddit.com", "/", .parameter("url")),
        ("slack-redir.net", "/link", .parameter("url")), ("vk.com", "/away.php", .parameter("to")),
        ("away.vk.com", "/away.php", .parameter("to")), ("t.umblr.com", "/redirect", .parameter("z")),
        ("href.li", "/", .query), ("nullrefer.com", "/", .query), ("deviantart.com", "/users/outgoing", .query),
        ("linkedin.com", "/redir/redirect", .parameter("url")), ("linkedin.com", "/safety/go", .parameter("url")),
        ("exit.sc", "/", .parameter("url")), ("gate.sc", "/", .parameter("url")),
        ("duckduckgo.com", "/l/", .parameter("uddg")),
        ("medium.com", "/r/", .parameter("url")), ("link.zhihu.com", "/", .parameter("target")),
        ("link.csdn.net", "/", .parameter("target")), ("douban.com", "/link2/", .parameter("url")),
        ("linkprotect.cudasvc.com", "/url", .parameter("a")), ("clicktime.symantec.com", "/", .parameter("u")),
        ("urldefense.proofpoint.com", "/v2/url", .proofpoint2), ("urldefense.com", "/v2/url", .proofpoint2),
        ("urldefense.proofpoint.com", "/v3/__", .proofpoint3), ("urldefense.com", "/v3/__", .proofpoint3),
        ("bing.com", "/ck/a", .bing), ("r.search.yahoo.com", "/", .yahoo),
        ("outgoing.prod.webservices.mozgcp.net", "/", .parameter("url")),
    ]

    /// The hosts of the built-in rules, for a quick exit: almost no address is on one of them.
    private static let hosts = Set(rules.lazy.map(\.host).filter { !$0.hasPrefix("*.") })
    private static let parents = Array(Set(rules.lazy.map(\.host).filter { $0.hasPrefix("*.") }.map { $0.dropFirst() }))

    /// Returns the address that a redirect page's address contains.
    ///
    /// - Parameter extra: The administrator's rules, which are tried before the built-in ones.
    /// - Returns: Nil if the address is not a wrapper or does not contain a valid http or https address.
    static func target(of url: WebURL, also extra: [WrapperRule] = []) -> WebURL? {
        let host = url.host.lookupName
        let bare = host.hasPrefix("www.") ? String(host.dropFirst(4)) : host
        if extra.isEmpty, !hosts.contains(bare), !parents.contains(where: host.hasSuffix) { return nil }
        let own = extra.map { (host: $0.host, path: $0.path, rule: Rule.parameter($0.parameter)) }
        for (name, path, rule) in own + rules where url.path.hasPrefix(path) {
            let isHost = name.hasPrefix("*.") ? host.hasSuffix(name.dropFirst()) : bare == name
            guard isHost, let text = text(in: url, by: rule) else { continue }
            // If the text is not a valid address, another rule may match; otherwise the wrapper's server is asked.
            guard var target = try? WebURL(parsing: text) else { continue }
            if target.fragment == nil { target.fragment = url.fragment }
            return target
        }
        return nil
    }

    private static func text(in url: WebURL, by rule: Rule) -> String? {
        switch rule {
        case .parameter(let name): return parameter(name, of: url)
        case .query: return url.query.map(decoded)
        case .proofpoint2:
            return parameter("u", of: url).map {
                decoded($0.replacing("-", with: "%").replacing("_", with: "/"))
            }
        case .proofpoint3: return proofpoint3(url.path + (url.query.map { "?" + $0 } ?? ""))
        case .bing:
            guard let value = parameter("u", of: url), value.hasPrefix("a1") else { return nil }
            return base64(String(value.dropFirst(2))).map { String(decoding: $0, as: UTF8.self) }
        case .yahoo:
            return url.path.split(separator: "/").first { $0.hasPrefix("RU=") }.map { decoded(String($0.dropFirst(3))) }
        case .accelerated:
            let all = url.path.split(separator: "/")
            let parts = all.dropFirst()
            guard let kind = all.first, ["amp", "c", "v", "i"].contains(kind), let first = parts.first else {
                return nil
            }
            let rest = (first == "s" ? parts.dropFirst() : parts).joined(separator: "/")
            guard rest.prefix(while: { $0 != "/" }).contains(".") else { return nil }
            return (first == "s" ? "https://" : "http://") + rest + (url.query.map { "?" + $0 } ?? "")
        }
    }

    private static func parameter(_ name: String, of url: WebURL) -> String? {
        for pair in url.query?.split(separator: "&") ?? [] where pair.prefix(while: { $0 != "=" }) == name {
            let value = pair.dropFirst(name.count + 1)
            if !value.isEmpty { return decoded(String(value).replacing("+", with: " ")) }
        }
        return nil
    }

    /// Decodes the path of a Proofpoint v3 address.
    ///
    /// - Returns: Nil if the path is malformed or refers to more replaced characters than follow.
    private static func proofpoint3(_ path: String) -> String? {
        let rest = path.dropFirst("/v3/__".count)
        guard let end = rest.firstRange(of: "__;"), !rest[..<end.lowerBound].isEmpty,
            let bytes = base64(String(rest[end.upperBound...].prefix { $0 != "!" })),
            let characters = String(validating: bytes, as: UTF8.self)
        else { return nil }
        var replaced = characters.unicodeScalars[...]
        var text = decoded(String(rest[..<end.lowerBound])).unicodeScalars[...]
        var output = String.UnicodeScalarView()
        while let next = text.popFirst() {
            guard next == "*" else {
                output.append(next)
                continue
            }
            var count = 1
            if text.first == "*", let letter = text.dropFirst().first {
                guard let place = runLengths.firstIndex(of: letter) else { return nil }
                count = place + 2
                text = text.dropFirst(2)
            }
            guard replaced.count >= count else { return nil }
            output.append(contentsOf: replaced.prefix(count))
            replaced = replaced.dropFirst(count)
        }
        return String(output)
    }

    /// The character at index n encodes a run of n + 2 characters.
    private static let runLengths = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".unicodeScalars)

    private static func decoded(_ text: String) -> String {
        String(decoding: PercentEncoding.decode(Array(text.utf8)[...]), as: UTF8.self)
    }

    private static func base64(_ text: String) -> [UInt8]? {
        var standard = text.replacing("-", with: "+").replacing("_", with: "/")
        while standard.utf8.count % 4 != 0 { standard += "=" }
        return Data(base64Encoded: standard).map(Array.init)
    }
}
