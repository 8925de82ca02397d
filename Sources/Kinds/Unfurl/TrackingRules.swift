/// The query parameters that track people and do not select the page: well-known ones, and the administrator's.
public struct TrackingRules: Sendable, Hashable {
    /// The well-known names; `*` at the end matches any ending. The list is short on purpose: it contains no parameter
    /// that some site needs.
    public static let known = [
        // Campaigns (Google Analytics, Matomo, Piwik, HubSpot, Adobe).
        "utm_*", "mtm_*", "pk_*", "piwik_*", "hsa_*", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsCtaTracking",
        "s_cid", "s_kwcid", "ef_id",
        // Click identifiers of advertisers and networks.
        "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "fbclid", "msclkid", "twclid",
        "ttclid", "li_fat_id", "yclid", "ymclid", "_openstat", "igshid", "igsh", "epik", "rdt_cid", "ScCid",
        "irclickid", "irgwc",
        // Mail.
        "mc_cid", "mc_eid", "mkt_tok", "vero_id", "vero_conv", "ck_subscriber_id", "oly_anon_id", "oly_enc_id", "_kx",
        "wickedid",
        // Sharing.
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
    /// The parameters to remove by host, for the host and its subdomains.
    private var dropped: [String: Names] = [:]
    private var kept: [String: Names] = [:]

    public init() { add(Self.known) }

    /// - Parameter names: The parameters to remove on all hosts; `*` at the end matches any ending.
    public mutating func add(_ names: [String]) {
        for name in names { everywhere.add(name) }
    }

    public mutating func add(_ list: TrackingList) {
        for rule in list.rules {
            switch (rule.host, rule.isException) {
            case (let host, true): kept[host ?? "", default: Names()].add(rule.name)
            case (let host?, false): dropped[host, default: Names()].add(rule.name)
            case (nil, false): everywhere.add(rule.name)
            }
        }
    }

    /// - Returns: The same address without those parameters. All other bytes stay the same.
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
        var domains = [host]
        while let (_, rest) = domains[domains.count - 1].cut(at: ".") { domains.append(rest) }
        return domains
    }
}
