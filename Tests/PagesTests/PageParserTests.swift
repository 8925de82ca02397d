import Testing

@testable import Pages

@Suite struct PageParserTests {
    @Test func whatBrowsersDoNotShowIsNotTaken() {
        let facts = PageParser.parse(
            Array(
                """
                <svg><title>svg</title></svg><template><title>template</title></template><noscript><title>no</title></noscript>
                <iframe><title>frame</title></iframe><textarea><title>area</title></textarea><select><title>s</title></select>
                <script>"<title>script</title>"</script><!-- <title>comment</title> --><style><title>style</title></style>
                <title>right <meta name=author content=spoof></title><meta name=author content=real>
                """.utf8))
        #expect(facts.title == "right <meta name=author content=spoof>")
        #expect(facts.metaAll("author") == ["real"])
    }

    @Test(arguments: [
        "<script>var x='<!--<script></script><meta name=author content=spoof>'</script>",
        "<script><!-- <SCRIPT/></script ><meta name=author content=spoof>--></script>",
        "<template><script><!--<script></script></template><meta name=author content=spoof></script></template>",
        "<svg><![CDATA[ x></svg><meta name=author content=spoof> ]]></svg>",
        "<math><mi><![CDATA[>]]></mi><![CDATA[</math><meta name=author content=spoof>]]]></math>",
    ])
    func whatIsTextByTheStandardHoldsNoTags(html: String) {
        let facts = PageParser.parse(Array((html + "<meta name=author content=real>").utf8))
        #expect(facts.metaAll("author") == ["real"])
    }

    /// The parser finds the end of a script where browsers do.
    @Test(arguments: [
        "<script><!-- x </script>", "<script><!--<script></script>--></script>", "<script><!--><script></script>",
        "<script><!--<scripts></script>", "<script>'<script>'</script>", "<script>a<!b--></script>",
        "<svg><desc><![CDATA[></desc></svg>",
    ])
    func whatFollowsAScriptIsRead(html: String) {
        let facts = PageParser.parse(Array((html + "<meta name=author content=real>").utf8))
        #expect(facts.metaAll("author") == ["real"])
    }
}
