import CLibXML2

/// Parses a page with libxml2, without building a tree: its events become ``PageFacts``.
///
/// What it is given was reduced by ``PageReducer``: no attribute flood, no depth and no length that would make it slow.
enum PageParser {
    static func parse(_ utf8: [UInt8]) -> PageFacts {
        let (html, jsonLD) = PageReducer.reduce(utf8)
        let collector = FactCollector()
        parse(html, into: collector)
        collector.facts.jsonLD = jsonLD
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

/// Listens to the parser and notes what matters.
final class FactCollector {
    var facts = PageFacts()
    private var text: [UInt8] = []
    /// The element whose text is being noted.
    private var capturing: String?

    static func of(_ user: UnsafeMutableRawPointer?) -> FactCollector? {
        user.map { Unmanaged<FactCollector>.fromOpaque($0).takeUnretainedValue() }
    }

    func start(_ name: UnsafePointer<xmlChar>?, _ list: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?) {
        guard let name else { return }
        switch String(cString: name) {
        case "html":
            let attributes = Attributes(list)
            facts.language = facts.language ?? attributes["lang"] ?? attributes["xml:lang"]
        case "base":
            facts.base = facts.base ?? Attributes(list)["href"]
        case "meta":
            meta(Attributes(list))
        case "link":
            link(Attributes(list))
        case "title" where facts.title == nil && capturing == nil:
            capture("title")
        case "h1" where facts.headings.count < 8 && capturing == nil:
            capture("h1")
        case "br" where capturing != nil:
            text.append(0x20)
        default: break
        }
    }

    func end(_ name: UnsafePointer<xmlChar>?) {
        guard let name, let capturing, capturing == String(cString: name) else { return }
        self.capturing = nil
        let found = String(decoding: text, as: UTF8.self).tidied
        if found.isEmpty { return }
        if capturing == "title" { facts.title = found } else { facts.headings.append(found) }
    }

    func characters(_ characters: UnsafePointer<xmlChar>?, _ count: Int32) {
        guard capturing != nil, let characters, text.count < 16 << 10 else { return }
        text.append(contentsOf: UnsafeBufferPointer(start: characters, count: Int(count)))
    }

    private func capture(_ name: String) {
        capturing = name
        text.removeAll(keepingCapacity: true)
    }

    private func meta(_ attributes: Attributes) {
        guard facts.metas.count < 2000, let content = attributes["content"]?.tidied else { return }
        for source in ["property", "name", "itemprop", "http-equiv"] {
            guard let keys = attributes[source] else { continue }
            for key in keys.lowercased().split(whereSeparator: \.isWhitespace).prefix(4) {
                facts.metas.append(PageFacts.Meta(key: String(key), content: content))
            }
        }
    }

    private func link(_ attributes: Attributes) {
        guard facts.links.count < 1000, let href = attributes["href"]?.trimmingSpaces, let rel = attributes["rel"]
        else { return }
        facts.links.append(
            PageFacts.LinkElement(
                rel: rel.lowercased().split(whereSeparator: \.isWhitespace).map(String.init), href: href,
                type: attributes["type"]?.lowercased(), title: attributes["title"]?.tidied,
                sizes: attributes["sizes"]?.lowercased(),
                hreflang: attributes["hreflang"], media: attributes["media"], color: attributes["color"]))
    }

    /// The name and value pairs that the parser hands over; valid during its call only.
    private struct Attributes {
        private let list: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?

        init(_ list: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?) { self.list = list }

        subscript(name: String) -> String? {
            guard let list else { return nil }
            var index = 0
            while let found = list[index] {
                if String(cString: found) == name { return list[index + 1].map { String(cString: $0) } ?? "" }
                index += 2
            }
            return nil
        }
    }
}

extension String {
    /// White space collapsed, control characters out.
    var tidied: String {
        var output: [UInt8] = []
        output.reserveCapacity(utf8.count)
        var needsSpace = false
        for scalar in unicodeScalars {
            if scalar.properties.isWhitespace {
                needsSpace = !output.isEmpty
            } else if scalar.value >= 0x20, !(0x7F...0x9F).contains(scalar.value) {
                if needsSpace { output.append(0x20) }
                needsSpace = false
                output.append(contentsOf: UTF8.encode(scalar)!)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
