import Testing

@testable import Pages

@Suite struct HeadScannerTests {
    @Test func headIsFoundWhereItEnds() {
        func isFound(_ text: String) -> Bool {
            var whole = HeadScanner()
            var piecewise = HeadScanner()
            let bytes = Array(text.utf8)
            var found = false
            for count in bytes.indices where !found { found = piecewise.advance(to: Array(bytes[...count])) }
            let answer = whole.advance(to: bytes)
            #expect(answer == found)
            return answer
        }
        for text in [
            "<head></head>", "<BODY class=x>", "<title></head></title><body>", "<!-- <body> --></HEAD >",
            "<style>a<b</style><body>", "<p title='a\"b'><body>", "<p title=a\"b><body>", "<p a\"b><body>",
            "<script src=\"a>b\"></script><body>", "1 <2 \"<body>", "<a b = 'c'/><body>",
        ] {
            #expect(isFound(text), "\(text)")
        }
        for text in [
            "", "<head>", "<!-- </head> <body>", "<script>'<body>'</script>", "<title><body></title", "<bodyguard>",
            "<style></head>", "</ head>", "<meta content=\"How the <body> tag works\">", "<meta content = 'a </head>'>",
            "<script a='>'><body>", "<title a=\"</title>\"><body>",
        ] { #expect(!isFound(text), "\(text)") }
    }

    @Test func endBehindALongScriptIsFound() {
        let page = Array(("<script>" + String(repeating: "<!-- ", count: 20_000) + "</script><body>").utf8)
        var scanner = HeadScanner()
        let more = Array(repeating: UInt8(ascii: "x"), count: 40_000)
        let counts = stride(from: 100, through: page.count + more.count, by: 100)
        let found = counts.first { scanner.advance(to: Array((page + more)[..<$0])) }
        #expect((page.count...page.count * 5 / 4).contains(found ?? 0))
    }

    /// The scanner waits for the rest of a long token, which never arrives if the connection ends.
    @Test func headOfAnInterruptedPageIsFound() {
        let page = Array(
            ("<head><script>" + String(repeating: "x", count: 20_000) + "</script><meta name=a content=b></head><body>")
                .utf8)
        var watch = DocumentWatch(contentType: "text/html")
        for end in stride(from: 1400, to: page.count, by: 1400) { _ = watch.look(at: Array(page[..<end])) }
        #expect(watch.suffices(page))
        #expect(!watch.suffices(Array(page.prefix(20_000))))
    }
}
