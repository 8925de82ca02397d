/// Query parameters that follow people and never choose the page.
public enum TrackingParameters {
    /// A name, or a beginning that ends in `*`. Kept short on purpose: a parameter that some site needs is not here.
    public static let known = [
        // Campaigns (Google Analytics, Matomo, Piwik, HubSpot, Adobe).
        "utm_*", "mtm_*", "pk_*", "piwik_*", "hsa_*", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsCtaTracking",
        "s_cid",
        "s_kwcid", "ef_id",
        // Click identifiers of advertisers and networks.
        "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "fbclid", "msclkid", "twclid",
        "ttclid",
        "li_fat_id", "yclid", "ymclid", "_openstat", "igshid", "igsh", "epik", "rdt_cid", "ScCid", "irclickid", "irgwc",
        // Mail.
        "mc_cid", "mc_eid", "mkt_tok", "vero_id", "vero_conv", "ck_subscriber_id", "oly_anon_id", "oly_enc_id", "_kx",
        "wickedid",
        // Sharing.
        "__twitter_impression", "ref_src", "ref_url", "fb_action_ids", "fb_action_types", "fb_source", "fb_ref", "_ga",
        "_gl",
    ]

    /// - Returns: The same address without those parameters; what is kept is kept byte for byte.
    static func clean(_ url: WebURL, extra: [String]) -> WebURL {
        guard let query = url.query else { return url }
        let patterns = (known + extra).map { $0.lowercased() }
        let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            let name = pair.prefix { $0 != "=" }.lowercased()
            return !patterns.contains { $0.hasSuffix("*") ? name.hasPrefix($0.dropLast()) : name == $0 }
        }
        var cleaned = url
        cleaned.query = kept.isEmpty ? nil : kept.joined(separator: "&")
        return cleaned
    }
}
