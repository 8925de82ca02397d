import Samples
import Testing
import WebSyntax

@testable import Pages

/// Pages designed to slow down or crash a parser.
@Suite(.serialized) struct HostilePageTests {
    enum Attack: String, CaseIterable {
        case attributes, duplicateAttributes, longAttribute, depth, unclosed, misnested, endTags, entities, comments,
            openComment,
            quotes, lessThans, nulls, tables, formatting, metas, headings, items, classes, jsonDepth, jsonGarbage,
            jsonNesting,
            jsonNumbers, selects,
            foreign, templates, titles, times, charsets, scripts, foreignText, jsonQuotes,
            sharedItems

        var page: String {
            func many(_ text: String, _ count: Int = 300_000) -> String {
                String(repeating: text, count: min(count, (512 << 10) / text.utf8.count))
            }
            return switch self {
            case .attributes: "<p " + (0..<60_000).map { "a\($0)=b " }.joined() + ">"
            case .duplicateAttributes: "<meta " + many("content=x ") + ">"
            case .longAttribute: "<meta name=description content='" + many("x") + "'>"
            case .depth: many("<div itemscope itemprop=a>")
            case .unclosed: many("<p class=author><li><td>")
            case .misnested: many("<a rel=author><div><p></a><b></div></p></b>")
            case .endTags: many("<i>", 250) + many("</b></a>")
            case .entities: "<title>" + many("&amp;&lt;&#x41;&nosuch;&") + "</title>"
            case .comments: many("<!--->-->")
            case .openComment: many("<!-- ")
            case .quotes: many("<a href='\">")
            case .lessThans: many("<")
            case .nulls: many("\0<\0a\0>")
            case .tables: many("<table><tr><td class=date>")
            case .formatting: many("<b class=author><i><font>")
            case .metas: many("<meta property=og:image content=x>")
            case .headings: many("<h1>x")
            case .items: many("<div itemscope itemtype=Article><span itemprop=author>x</span></div>")
            case .classes: "<p class='" + many("author date comment ") + "'>x"
            case .jsonDepth: "<script type=application/ld+json>" + many("[{\"a\":") + "</script>"
            case .jsonGarbage: many("<script type=application/ld+json>{\"@type\":\"Article\",,,;\"a\"</script>")
            case .jsonNesting:
                "<script type=application/ld+json>{\"@type\":" + many("[", 40) + many("]", 40) + "}</script>"
            case .jsonNumbers: "<script type=application/ld+json>[" + many("1e999,-,") + "]</script>"
            case .selects: many("<select><option>")
            case .foreign: many("<svg><desc><svg><math><mi>")
            case .templates: many("<template><script>")
            case .titles: many("<title>x</title>")
            case .times: many("<time datetime='1 1 1 1 1 may may may 2020'>")
            case .charsets: many("<meta charset=none>")
            case .scripts: "<script>" + many("<!--<script></script>-")
            case .foreignText: many("<svg><![CDATA[]]")
            case .jsonQuotes:
                "<script type=application/ld+json>{\"@type\":\"x" + many("\" , \"") + many(" ") + "</script>"
            case .sharedItems:
                "<div itemscope>" + many("<div itemscope itemprop='a b c d'>", 5)
                    + many("<p itemscope itemprop='a b c d'><meta itemprop='n o p q' content=x></p>", 490)
            }
        }
    }

    @Test(arguments: Attack.allCases)
    func attackTakesNoLongerThanAnHonestPage(attack: Attack) throws {
        let bytes = Array(attack.page.utf8.prefix(512 << 10))
        let url = try WebURL(parsing: "https://example.org/")
        let start = ContinuousClock.now
        let output = DocumentMetadata(of: bytes, url: url, contentType: "text/html")
        let duration = ContinuousClock.now - start
        // The benchmark has the limit of 300 ms for a release build and pages of four times the size. Here, quadratic
        // time would exceed 20 seconds.
        #expect(duration < .seconds(20), "\(attack.rawValue) took \(duration)")
        #expect(output.bytes == bytes.count)
    }

    /// The result of any input is valid text of bounded size.
    @Test(arguments: UInt64(1)...6)
    func randomPagesNeverTrap(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let pieces: [String] = [
            "<", ">", "</", "/>", "<!--", "-->", "<!", "<?", "=", "'", "\"", "&", "&#", "&#x110000;", ";", " ", "\n",
            "\0", "é", "\u{FEFF}",
            "<title>", "</title>", "<meta ", "name=description ", "property=og:image ", "content=", "charset=utf-16 ",
            "<script type=application/ld+json>",
            "</script>", "{\"@type\":\"Article\",", "\"author\":[", "\\u", "\\ud800", "}", "]",
            "<div itemscope itemtype=x/Article>", "<span itemprop=author>",
            "<svg>", "<math>", "<template>", "<select>", "<h1>", "<time datetime=2020-01-01>", "<a rel='author tag'>",
            "class='byline date'", "<p>", "<body>", "2024-13-45",
            "1 January 2020 25:61", "%PDF-1.4 /Count 99 /Pages /Title(", "\u{89}PNG\r\n\u{1A}\n", "RIFF1234WEBPVP8X",
            "....ftypavif ispe", "<svg viewBox='0 0 1e9 x'>",
        ]
        let url = try WebURL(parsing: "https://example.org/2020/01/02/x")
        for round in 0..<300 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...60, using: &random) {
                if Int.random(in: 0..<12, using: &random) == 0 {
                    bytes.append(UInt8.random(in: 0...255, using: &random))
                } else {
                    bytes += pieces[Int.random(in: 0..<pieces.count, using: &random)].utf8
                }
            }
            let output = DocumentMetadata(of: bytes, url: url, contentType: round % 3 == 0 ? nil : "text/html")
            for text in [output.title, output.description, output.author].compactMap({ $0 }) {
                #expect(
                    !text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) },
                    "seed \(seed), round \(round)")
            }
        }
    }
}
