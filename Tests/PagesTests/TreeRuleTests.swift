import Testing

@testable import Pages

/// The HTML Standard's rules for missing, misplaced and misnested tags (13.2.6). Each expected text is that of the same
/// element in the standard's tree.
@Suite struct TreeRuleTests {
    private func texts(_ html: String) -> [String] {
        PageParser.parse(Array(html.utf8)).bylines.map { $0.rows.joined() }
    }

    @Test(
        arguments: [
            ("<p class=byline>a<p>b", "a"), ("<p class=byline>a<div>b</div>c", "a"), ("<p class=byline>a<hr>b", "a"),
            ("<!doctype html><p class=byline>a<table><tr><td>b</table>c", "a"),
            ("<p class=byline>a<button><div>b</div></button>c</p>d", "abc"),
            ("<ul><li class=byline>a<li>b</ul>", "a"), ("<ul><li class=byline>a<div>b<li>c</ul>", "ab"),
            ("<ul><li class=byline>a<ul><li>b</ul>c<li>d</ul>", "abc"), ("<dl><dt class=byline>a<dd>b</dl>", "a"),
            ("<h4 class=byline>a<h5>b</h5>", "a"), ("<ruby>a<rt class=byline>b<rp>c</ruby>", "b"),
            ("<datalist><option class=byline>a<option>b</datalist>", "a"),
            ("<form><form><div class=byline>a</form>b</div></form>c", "ab"), ("<a class=byline>a<a>b</a>", "a"),
            ("<button class=byline>a<button>b</button>", "a"),
        ])
    func startTagClosesTheElementBeforeIt(html: String, text: String) { #expect(texts(html) == [text]) }

    @Test(
        arguments: [
            ("<table><tr><td class=byline>a<td>b</table>", "a"),
            ("<table><tr class=byline><td>a</td><td>b<tr><td>c</table>", "ab"),
            ("<table><tbody class=byline><tr><td>a<tbody><tr><td>b</table>", "a"),
            ("<table><caption class=byline>a<tr><td>b</table>c", "a"),
            ("<table><tr><td class=byline>a<table><tr><td>b</table>c</table>d", "abc"),
            ("<table><tr><td><div class=byline>a</table>b", "a"),
        ])
    func cellsAndRowsEndWithTheirTable(html: String, text: String) { #expect(texts(html) == [text]) }

    @Test func partsOfATableAreIgnoredOutsideTables() {
        #expect(texts("<td class=byline>a</td><tr class=byline>b").isEmpty)
    }

    @Test(
        arguments: [
            ("<h4 class=byline>a</h5>b", "a"), ("<section class=byline><p>a<div>b</section>c", "ab"),
            ("<div class=byline>a<b>b<p>c</b>d</div>e", "abcd"),
            ("<div class=byline>a<b>b<i>c</b>d</i>e</div>f", "abcde"),
            ("<div><span class=byline>a<div>b</span>c</div></div>d", "abc"),
            ("<div class=byline>a</p></span></section></li></td>b</div>c", "ab"),
            ("<div class=byline>a<marquee>b</div>c</marquee>d</div>e", "abcd"),
            ("<div class=byline>a</body></html>b</div>c", "ab"), ("<div class=byline>a<img>b</img>c</div>d", "abc"),
            ("<div class=byline>a<br>b</br>c</div>d", "abc"), ("<DIV CLASS=byline>a</Div>b", "a"),
            ("<div class=byline>a", "a"),
        ])
    func endTagClosesOnlyItsOwnElement(html: String, text: String) { #expect(texts(html) == [text]) }

    @Test func elementsBehindADeepTreeAreRead() {
        let deep = String(repeating: "<div>", count: 10_000)
        #expect(texts(deep + "<p class=byline>a</p>b" + deep + "<p class=byline>c</p>d") == ["a", "c"])
    }

    @Test(
        arguments: [
            "<svg><title>x</title></svg>", "<math><title>x</title></math>", "<svg><g><title>x</title></svg>",
            "<svg><style></svg>", "<svg/>", "<svg><p>x", "<svg><desc><title>x</title></desc></svg>",
            "<template><title>x</title></template>",
            "<template><p><template></template><title>x</title></template>",
            "<noscript><title>x</title></noscript>", "<select><title>x</title></select>",
            "<select><option>x<input>", "<textarea><title>x</title></textarea>", "<xmp><title>x</title></xmp>",
            "<frameset><frame></frameset><noframes><title>x</title></noframes>", "<title></title>",
            "<!-- <title>x</title> -->", "<!-->", "<!--->", "<!-- --!>", "<!--!> <title>x</title> -->",
            "<!- <title>", "<? <title>", "</ <title>", "<![CDATA[<title>x</title>]]>", "<!doctype html>",
            "<iframe><title>x</title></iframe>", "<p title=\"<title>x</title>\">", "<p <title>",
        ])
    func nothingElseIsMistakenForTheTitle(html: String) {
        #expect(PageParser.parse(Array((html + "<title>right</title>").utf8)).title == "right")
    }

    @Test func firstOfTwoAttributesIsValid() {
        let page = "<meta name=author NAME=x content=Ada content=Bob><html lang=sv LANG=de>"
        let facts = PageParser.parse(Array(page.utf8))
        #expect(facts.metaAll("author") == ["Ada"])
        #expect(facts.language == "sv")
    }

    @Test func zeroBytesEndNothing() {
        let page = Charset.decode(
            Array("<tit\0le>x</title><title>a\0b</title><p class=byline>\0c".utf8), contentType: nil)
        let facts = PageParser.parse(page.utf8)
        #expect(facts.title == "a\u{FFFD}b")
        #expect(facts.bylines.map(\.rows) == [["\u{FFFD}c"]])
    }

    @Test(
        arguments: [
            ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"), ("&notin;&nGtv;&NewLine;&fjlig;", "\u{2209}\u{226B}\u{338}\nfj"),
            ("&CounterClockwiseContourIntegral;", "\u{2233}"), ("&colon;&semi;&bsol;&nbsp;", ":;\\\u{A0}"),
            ("&copy &eacute.", "\u{A9} \u{E9}."), ("?a=1&copy=2&reg2=3&notit;", "?a=1&copy=2&reg2=3&notit;"),
            ("&nosuch; &hellip &; & &", "&nosuch; &hellip &; & &"), ("&#65;&#x42;&#X43;&#68&#x45g", "ABCDEg"),
            ("&#0;&#xD800;&#x110000;&#99999999999;", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"), ("&#;&#x;&#", "&#;&#x;&#"),
            ("&amp;amp;", "&amp;"),
        ])
    func referencesBecomeCharacters(text: String, characters: String) {
        #expect(CharacterReferences.decode(text) == characters)
    }
}
