import WebSyntax

/// The query parameters to remove from an address because they track people and do not select the page: well-known
/// parameters and the administrator's.
public struct TrackingRules: Sendable, Hashable {
    /// The well-known names; a `*` at the end matches any ending. The list is short on purpose: it contains no
    /// parameter that any site is known to need.
    public static let known = [
        // Campaigns (Google Analytics, Matomo, Piwik, HubSpot, Adobe).
        "utm_*", "mtm_*", "pk_*", "piwik_*", "hsa_*", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsCtaTracking",
        "s_cid", "s_kwcid", "ef_id",
        // Click identifiers of advertisers and networks.
        "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "fbclid", "msclkid", "twclid",
        "ttclid", "li_fat_id", "yclid", "ymclid", "_openstat", "igshid", "igsh", "epik", "rdt_cid", "ScCid",
        "irclickid", "irgwc",
        // Mailing services.
        "mc_cid", "mc_eid", "mkt_tok", "vero_id", "vero_conv", "ck_subscriber_id", "oly_anon_id", "oly_enc_id", "_kx",
        "wickedid",
        // Sharing buttons and links.
        "__twitter_impression", "ref_src", "ref_url", "fb_action_ids", "fb_action_types", "fb_source", "fb_ref", "_ga",
        "_gl",
    ]

    private struct Names: Sendable, Hashable {
        private var whole: Set<String> = []
        private var beginnings: Set<String> = []

        mutating func add(_ name: some StringProtocol) {
            let name = name.lowercased()
            if name.hasSuffix("*") { beginnings.insert(String(name.dropLast())) } else { whole.insert(name) }
        }

        func holds(_ name: String) -> Bool { whole.contains(name) || beginnings.contains { name.hasPrefix($0) } }
    }

    private var everywhere = Names()
    /// The parameters to remove on a host and its subdomains, by host.
    private var dropped: [String: Names] = [:]
    /// The parameters to keep on a host and its subdomains, by host; those under the empty name are kept everywhere.
    private var kept: [String: Names] = [:]

    /// Creates rules that remove the well-known parameters.
    public init() { add(Self.known) }

    /// Adds parameters to remove on all hosts.
    ///
    /// - Parameter names: The names; a `*` at the end matches any ending.
    public mutating func add(_ names: [String]) {
        for name in names { everywhere.add(name) }
    }

    /// Adds the rules and exceptions of a list. An exception wins over every rule, whichever was added first.
    public mutating func add(_ list: TrackingList) {
        for rule in list.rules {
            switch (rule.host, rule.isException) {
            case (let host, true): kept[host ?? "", default: Names()].add(rule.name)
            case (let host?, false): dropped[host, default: Names()].add(rule.name)
            case (nil, false): everywhere.add(rule.name)
            }
        }
    }

    /// - Returns: The address without its tracking parameters. The rest is unchanged byte for byte.
    func clean(_ url: WebURL) -> WebURL {
        guard let query = url.query else { return url }
        let hosts = Self.domains(of: url.host.lookupName)
        let drops = [everywhere] + hosts.compactMap { dropped[$0] }
        let keeps = (hosts + [""]).compactMap { kept[$0] }
        let rest = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            let name = pair.prefix { $0 != "=" }.lowercased()
            return !drops.contains { $0.holds(name) } || keeps.contains { $0.holds(name) }
        }
        var cleaned = url
        cleaned.query = rest.isEmpty ? nil : rest.joined(separator: "&")
        return cleaned
    }

    /// Returns a host and its parent domains: `a.b.c`, `b.c` and `c`.
    private static func domains(of host: String) -> [String] {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.indices.map { labels[$0...].joined(separator: ".") }
    }
}
