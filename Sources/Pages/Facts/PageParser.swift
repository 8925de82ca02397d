import CLibXML2

/// Parses a page with libxml2 without building a tree. A ``FactCollector`` turns the parser's events into
/// ``PageFacts``.
///
/// ``PageReducer`` reduces the page first, so that no number of attributes, depth or length makes the parser slow.
enum PageParser {
    static func parse(_ utf8: [UInt8]) -> PageFacts {
        let reduced = PageReducer.reduce(utf8)
        let collector = FactCollector()
        parse(reduced.html, into: collector)
        collector.finish()
        collector.facts.jsonLD = reduced.jsonLD
        collector.facts.words = reduced.words
        collector.facts.language = reduced.language
        collector.facts.shown = reduced.shown
        return collector.facts
    }

    private static let isReady: Void = xmlInitParser()

    private static func parse(_ html: [UInt8], into collector: FactCollector) {
        _ = isReady
        html.withUnsafeBytes { bytes in
            guard let base = bytes.bindMemory(to: CChar.self).baseAddress,
                let context = htmlCreateMemoryParserCtxt(base, Int32(bytes.count))
            else { return }
            defer { htmlFreeParserCtxt(context) }
            let options =
                HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue
                | HTML_PARSE_NONET.rawValue | HTML_PARSE_IGNORE_ENC.rawValue
            htmlCtxtUseOptions(context, Int32(options))
            xmlSwitchEncoding(context, XML_CHAR_ENCODING_UTF8)
            guard let handler = context.pointee.sax else { return }
            handler.pointee = xmlSAXHandler()
            handler.pointee.startElement = { user, name, attributes in
                FactCollector.of(user)?.start(name, attributes)
            }
            handler.pointee.endElement = { user, name in FactCollector.of(user)?.end(name) }
            handler.pointee.characters = { user, text, count in FactCollector.of(user)?.characters(text, count) }
            context.pointee.userData = Unmanaged.passUnretained(collector).toOpaque()
            htmlParseDocument(context)
            withExtendedLifetime(collector) {}
        }
    }
}
