import Foundation
import Glibc
import Kinds
import Pages

/// A generated page like those of news sites and blogs: 180 KB on average, a third of it scripts.
private struct MadePage {
    let bytes: [UInt8]

    init(number: Int, size: Int) {
        let words = [
            "the", "halyard", "hoists", "a", "sail", "before", "wind", "and", "crew", "sings", "under", "stars",
        ]
        var html = """
            <!doctype html><html lang="en-GB"><head><meta charset="utf-8"><title>Story \(number) — The Rigger</title>
            <meta name="description" content="What \(number) hands can do."><link rel="canonical" href="/stories/\(number)">
            <meta property="og:title" content="Story \(number)"><meta property="og:type" content="article">
            <meta property="og:site_name" content="The Rigger"><meta property="og:image" content="/p/\(number).jpg">
            <meta property="og:image:width" content="1200"><meta property="og:image:height" content="630">
            <meta property="article:published_time" content="2024-02-03T04:05:06Z"><meta name="twitter:card" content="summary">
            <link rel="icon" sizes="32x32" href="/i.png"><link rel="alternate" type="application/rss+xml" href="/feed">

            """
        for sheet in 0..<20 {
            html += "<link rel=\"stylesheet\" href=\"/css/\(sheet).css?v=\(number)\" media=\"all\">\n"
        }
        html += """
            <script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"NewsArticle","headline":
            "Story \(number)","author":{"@type":"Person","name":"Ada Lovelace"},"datePublished":"2024-02-03T04:05:06Z"}]}</script>
            </head><body class="post single"><header><nav><ul>

            """
        for link in 0..<60 {
            html +=
                "<li class=\"menu-item menu-item-\(link)\"><a href=\"/section/\(link)\" data-track=\"nav\">Section \(link)</a></li>\n"
        }
        html += "</ul></nav></header><main><article class=\"entry\"><h1 class=\"entry-title\">Story \(number)</h1>\n"
        html += "<div class=\"byline\">By <a rel=\"author\" href=\"/ada\">Ada Lovelace</a></div>\n"
        var block = 0
        while html.utf8.count < size {
            block += 1
            if block % 3 == 0 {
                let text = (0..<200).map { "a[\($0)]=\"\(words[(block + $0) % words.count])<\";" }.joined()
                html += "<script>(function(){\(text)})();</script>\n"
            } else if block % 3 == 1 {
                let text = (0..<120).map { words[(block * 7 + $0 * 5) % words.count] }.joined(separator: " ")
                html +=
                    "<p id=\"p\(block)\">\(text), <em>see</em> <a href=\"/x?a=1&amp;b=\(block)\" class=\"link\">there</a>.</p>\n"
            } else {
                for card in 0..<6 {
                    html += """
                        <div class="card card--wide" data-id="\(block)-\(card)"><a href="/s/\(card)"><img src="/t/\(card).jpg" \
                        srcset="/t/\(card)@2x.jpg 2x" alt="" loading="lazy" width="320" height="180"></a><span class="label">New</span></div>

                        """
                }
            }
        }
        bytes = Array((html + "</article></main></body></html>").utf8)
    }
}

/// Measures extraction alone, without the network, in pages per second of CPU time. The CPU time of the
/// sandboxes counts.
func measureEnrich() async throws -> [Row] {
    let pages = (0..<40).map { MadePage(number: $0, size: [20, 60, 100, 140, 180, 220, 280, 440][$0 % 8] << 10).bytes }
    let here = try await pagesPerSecond(of: pages, in: .here)
    let sandboxes = try await pagesPerSecond(of: pages, in: .thisProgram)
    return [("in this process", here), ("in sandboxes", sandboxes)].map { place, rate in
        Row("enrich: pages of 180 KB, \(place)", rate, "pages / CPU s", .atLeast(600))
    }
}

/// A sandbox reads its maximum of pages in rounds of 40, and is then replaced.
private let rounds = 25

private func pagesPerSecond(of pages: [[UInt8]], in location: DocumentReader.Location) async throws -> Double {
    try await medians(ofRounds: 5) {
        let start = processorSeconds()
        try await describeAll(pages, in: location)
        return [Double(pages.count * rounds) / (processorSeconds() - start)]
    }[0]
}

/// Reads all pages. When it returns, the sandboxes have ended, so that the kernel has added their CPU time to
/// this process.
private func describeAll(_ pages: [[UInt8]], in location: DocumentReader.Location) async throws {
    let reader = DocumentReader(location)
    for _ in 0..<rounds {
        for page in pages {
            let output = try await reader.describe(
                page, from: "https://rigger.example/stories/1", contentType: "text/html")
            guard output.author == "Ada Lovelace" else { throw BenchError("a page was not read as it should") }
        }
    }
    reader.endIdleSandboxes()
}

private func processorSeconds() -> Double {
    [RUSAGE_SELF, RUSAGE_CHILDREN].reduce(0) { sum, who in
        var usage = rusage()
        getrusage(__rusage_who_t(who.rawValue), &usage)
        let (user, system) = (usage.ru_utime, usage.ru_stime)
        return sum + Double(user.tv_sec + system.tv_sec) + Double(user.tv_usec + system.tv_usec) / 1e6
    }
}
