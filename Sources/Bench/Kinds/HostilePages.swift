import Kinds

/// Pages of 2 MiB, the maximum that is read, each of which keeps a parser busy in a different way.
private enum HostilePage: String, CaseIterable {
    case attributes, longAttribute, depth, unclosed, misnested, entities, comments, scripts, lessThans, nulls, tables
    case metas, headings, items, classes, bylines, times, foreign, templates, jsonDepth, jsonGarbage, jsonNumbers

    var bytes: [UInt8] {
        let size = 2 << 20
        func many(_ text: String) -> String { String(repeating: text, count: size / text.utf8.count) }
        let data = "<script type=application/ld+json>"
        let html =
            switch self {
            case .attributes: "<p " + (0..<240_000).map { "a\($0)=b " }.joined() + ">"
            case .longAttribute: "<meta name=description content='" + many("x") + "'>"
            case .depth: many("<div itemscope itemprop=a>")
            case .unclosed: many("<p class=author><li><td>")
            case .misnested: many("<a rel=author><div><p></a><b></div></p></b>")
            case .entities: "<title>" + many("&amp;&lt;&#x41;&nosuch;&") + "</title>"
            case .comments: many("<!--->-->")
            case .scripts: "<script>" + many("<!--<script></script>-")
            case .lessThans: many("<")
            case .nulls: many("\0<\0a\0>")
            case .tables: many("<table><tr><td class=date>")
            case .metas: many("<meta property=og:image content=x>")
            case .headings: many("<h1>x")
            case .items: many("<div itemscope itemtype=Article><span itemprop=author>x</span></div>")
            case .classes: "<p class='" + many("author date comment ") + "'>x"
            case .bylines: many("<span class=byline>By Ada Lovelace on May 3, 2024</span>")
            case .times: many("<time datetime='1 1 1 1 1 may may may 2020'>")
            case .foreign: many("<svg><desc><svg><![CDATA[]]><math><mi>")
            case .templates: many("<template><script>")
            case .jsonDepth: data + many("[{\"a\":") + "</script>"
            case .jsonGarbage: many(data + "{\"@type\":\"Article\",,,;\"a\"</script>")
            case .jsonNumbers: data + "[" + many("1e999,-,") + "]</script>"
            }
        return Array(html.utf8.prefix(size))
    }
}

/// Measures the hostile page that takes longest in a sandbox.
func measureHostilePages() async throws -> Row {
    let reader = DocumentReader(.thisProgram)
    var slowest = (milliseconds: 0.0, name: "")
    for page in HostilePage.allCases {
        let bytes = page.bytes
        let milliseconds = try await medians(ofRounds: 3) {
            let start = ContinuousClock.now
            _ = try await reader.describe(bytes, from: "https://rigger.example/", contentType: "text/html")
            return [start.milliseconds]
        }[0]
        if milliseconds > slowest.milliseconds { slowest = (milliseconds, page.rawValue) }
    }
    reader.endIdleSandboxes()
    return Row(
        "enrich: slowest of \(HostilePage.allCases.count) hostile pages (\(slowest.name))", slowest.milliseconds, "ms",
        .atMost(300))
}
