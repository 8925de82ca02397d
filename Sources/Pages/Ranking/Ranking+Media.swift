import WebSyntax

extension Ranking {
    /// Returns the pictures that the page offers to represent it, best first, without placeholders and tracking pixels.
    mutating func images() -> [DocumentMetadata.Picture]? {
        var pictures: [DocumentMetadata.Picture] = []
        var source = ""
        func add(
            _ from: String, _ text: String?, width: String? = nil, height: String? = nil, alt: String? = nil,
            type: String? = nil
        ) {
            guard pictures.count < 20, let text, let address = absolute(text), !Self.isPlaceholder(address) else {
                return
            }
            if let index = pictures.firstIndex(where: { $0.url == address }) {
                pictures[index].alt = pictures[index].alt ?? alt?.cut(to: 500)
                return
            }
            // A picture this small is a tracking pixel.
            if let width = Self.pixels(width), let height = Self.pixels(height), width < 4, height < 4 { return }
            if pictures.isEmpty { source = from }
            pictures.append(
                DocumentMetadata.Picture(
                    url: address, width: Self.pixels(width), height: Self.pixels(height), alt: alt?.cut(to: 500),
                    type: type?.cut(to: 100)))
        }
        for group in openGraphImages() {
            add(
                "og:image", group["og:image:secure_url"] ?? group["og:image"] ?? group["og:image:url"],
                width: group["og:image:width"],
                height: group["og:image:height"], alt: group["og:image:alt"], type: group["og:image:type"])
        }
        for key in ["twitter:image", "twitter:image:src"] {
            add(key, facts.meta(key), alt: facts.meta("twitter:image:alt"))
        }
        for (name, data, node) in [("json-ld image", linked, subject), ("microdata image", items, item)] {
            for value in (node?["image"]?.all ?? []) + (node?["thumbnailUrl"]?.all ?? []) {
                let image = data.resolved(value)
                add(
                    name, data.address(value), width: image["width"]?.text, height: image["height"]?.text,
                    alt: image["caption"]?.text)
            }
        }
        add("link image_src", facts.link("image_src")?.href)
        for key in ["thumbnail", "parsely-image-url", "sailthru.image.full", "msapplication-tileimage"] {
            add(key, facts.meta(key))
        }
        if pictures.isEmpty { return nil }
        note("image", from: source)
        return pictures
    }

    /// Groups the properties of each picture. Structured properties such as `og:image:width` belong to the `og:image`
    /// before them.
    private func openGraphImages() -> [[String: String]] {
        var groups: [[String: String]] = []
        for meta in facts.metas where meta.key.hasPrefix("og:image") && !meta.content.isEmpty {
            let begins =
                meta.key == "og:image" || groups.isEmpty
                || meta.key == "og:image:url" && groups.last?["og:image:url"] != nil
            if begins { groups.append([:]) }
            groups[groups.count - 1][meta.key] = groups[groups.count - 1][meta.key] ?? meta.content
        }
        return groups
    }

    private static func pixels(_ text: String?) -> Int? {
        guard let digits = text?.prefix(while: { $0.isASCII && $0.isNumber }), let value = Int(digits),
            (1...100_000).contains(value)
        else { return nil }
        return value
    }

    static func isPlaceholder(_ address: String) -> Bool {
        let name = address.split(separator: "?").first?.split(separator: "/").last?.lowercased() ?? ""
        return ["blank.", "spacer.", "pixel.", "1x1.", "transparent.", "placeholder.", "clear.gif", "empty."].contains {
            name.hasPrefix($0)
        }
    }

    mutating func video() -> String? {
        firstURL(
            "video",
            metas("og:video:secure_url", "og:video:url", "og:video", "twitter:player:stream")
                + [
                    ("json-ld video", linked.address(subject?["video"])),
                    (
                        "json-ld contentUrl",
                        subject.map(LinkedData.types)?.contains("VideoObject") == true
                            ? linked.text(subject, "contentUrl", "embedUrl") : nil
                    ), ("video element", facts.streams.first(where: \.isVideo)?.address),
                ])
    }

    mutating func audio() -> String? {
        firstURL(
            "audio",
            metas("og:audio:secure_url", "og:audio:url", "og:audio")
                + [
                    ("json-ld audio", linked.address(subject?["audio"])),
                    ("json-ld associatedMedia", linked.address(subject?["associatedMedia"])),
                    ("audio element", facts.streams.first { !$0.isVideo }?.address),
                ])
    }

    mutating func icons() -> [DocumentMetadata.Icon]? {
        var icons: [DocumentMetadata.Icon] = []
        for link in facts.links where icons.count < 20 {
            let rel = ["apple-touch-icon", "apple-touch-icon-precomposed", "icon", "mask-icon"].first {
                link.rel.contains($0)
            }
            guard let rel, let address = absolute(link.href) else { continue }
            let name = rel == "apple-touch-icon-precomposed" ? "apple-touch-icon" : rel
            icons.append(DocumentMetadata.Icon(url: address, rel: name, sizes: link.sizes, type: link.type))
        }
        return icons.isEmpty ? nil : icons
    }

    /// Returns the largest icon, without mask icons unless there are no others. An icon without a size counts as 32
    /// pixels, a touch icon as 152.
    mutating func icon(of icons: [DocumentMetadata.Icon]?) -> String? {
        func size(_ icon: DocumentMetadata.Icon) -> Int {
            if icon.rel == "mask-icon" { return 0 }
            let largest = icon.sizes?.split(separator: " ").compactMap { Int($0.prefix { $0.isNumber }) }.max()
            return largest ?? (icon.sizes == "any" ? 512 : icon.rel == "icon" ? 32 : 152)
        }
        guard let best = icons?.max(by: { size($0) < size($1) }) else { return nil }
        note("icon", from: "link " + best.rel)
        return best.url
    }

    func feeds() -> [DocumentMetadata.Feed]? {
        let types = ["application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"]
        return alternates { types.contains($0) }
    }

    /// Returns the page's oEmbed endpoints. If none has the right media type, endpoints with a common wrong one are
    /// returned.
    func oembed() -> [DocumentMetadata.Feed]? {
        let right = alternates {
            $0 == "application/json+oembed" || $0 == "text/xml+oembed" || $0 == "application/xml+oembed"
        }
        return right
            ?? alternates(containing: "oembed") { $0 == "application/json" || $0 == "text/xml" || $0 == "text/json" }
    }

    private func alternates(containing part: String = "", _ isWanted: (String) -> Bool) -> [DocumentMetadata.Feed]? {
        var feeds: [DocumentMetadata.Feed] = []
        for link in facts.links
        where feeds.count < 20 && (link.rel.contains("alternate") || link.rel.contains("alternative")) {
            guard let type = link.type?.prefix(while: { $0 != ";" }).trimmingSpaces, isWanted(type),
                part.isEmpty || link.href.contains(part), let address = absolute(link.href)
            else { continue }
            feeds.append(DocumentMetadata.Feed(url: address, type: type, title: link.title))
        }
        return feeds.isEmpty ? nil : feeds
    }

    mutating func license() -> String? {
        firstURL(
            "license",
            [
                ("link license", facts.link("license")?.href), ("json-ld license", linked.address(subject?["license"])),
                meta("dcterms.license"), meta("dc.rights.license"),
            ]
            .map { ($0.0, $0.1.flatMap { $0.contains("/") ? $0 : nil }) })
    }
}
