/// Reads a PDF's metadata from its information dictionary, its XMP metadata and the count in its page tree (ISO
/// 32000-2, 7.7 and 14.3). Facts that are uncertain are omitted.
enum PDFFacts {
    private static let maxAuthors = 20
    private static let maxPages = 10_000_000
    /// The maximum size of a title or a name in bytes. A longer one is ignored.
    private static let maxText = 4096
    /// The number of bytes of the XMP metadata that are read.
    private static let maxMetadata = 512 << 10

    static func read(_ bytes: [UInt8]) -> MediaFacts? {
        var budget = PDFBudget(for: bytes.count)
        return read(bytes, &budget)
    }

    static func read(_ bytes: [UInt8], _ budget: inout PDFBudget) -> MediaFacts? {
        // Offsets in the file count from `%PDF-`, which other bytes may precede.
        guard let mark = bytes.prefix(1024).firstPlace(of: Array("%PDF-".utf8)) else { return nil }
        let bytes = mark == 0 ? bytes : Array(bytes[mark...])
        if let crossReference = PDFSections.read(bytes, &budget) {
            var file = PDFFile(bytes, crossReference, budget)
            let facts = facts(of: &file)
            budget = file.budget
            if facts.pages != nil, !file.isDamaged { return facts }
        }
        var file = PDFFile(scanning: bytes, budget)
        let facts = facts(of: &file)
        budget = file.budget
        return facts
    }

    private static func facts(of file: inout PDFFile) -> MediaFacts {
        var facts = MediaFacts(contentType: "application/pdf")
        let information = file.resolve(file.trailer["Info"])
        let catalog = file.resolve(file.trailer["Root"])
        facts.title = text(information["Title"], in: &file)
        facts.authors = text(information["Author"], in: &file).map { [$0] }
        if facts.title == nil || facts.authors == nil,
            let stream = file.resolve(catalog["Metadata"]).value.stream, let data = file.data(of: stream)
        {
            let metadata = Charset.decode(Array(data.prefix(maxMetadata)), contentType: nil).utf8
            facts.title = facts.title ?? texts("dc:title", in: metadata).first
            let creators = texts("dc:creator", in: metadata)
            facts.authors = facts.authors ?? (creators.isEmpty ? nil : creators)
        }
        facts.pages = pages(catalog, in: &file) ?? linearizedPages(file.bytes)
        return facts
    }

    private static func text(_ value: PDFFile.Found, in file: inout PDFFile) -> String? {
        let text = file.string(of: value).flatMap(PDFText.decode)?.tidied ?? ""
        return text.isEmpty || text.utf8.count > maxText ? nil : text
    }

    private static func pages(_ catalog: PDFFile.Found, in file: inout PDFFile) -> Int? {
        guard let tree = file.resolve(catalog["Pages"]).value.dictionary, tree["Kids"] != nil, tree["Parent"] == nil,
            let count = file.resolve(PDFFile.Found(value: tree["Count"] ?? .null)).value.integer,
            (1...maxPages).contains(count)
        else { return nil }
        // Every child has at least one page, and every page is an object. A count that contradicts this is wrong.
        if let branches = tree["Kids"]?.array, branches.count > count { return nil }
        if let size = file.trailer["Size"].value.integer, count >= size { return nil }
        return count
    }

    /// Returns the page count that a linearized file states at its beginning, for a file whose page tree is not in the
    /// bytes that were read.
    private static func linearizedPages(_ bytes: [UInt8]) -> Int? {
        var lexer = PDFLexer(Array(bytes.prefix(2048)))
        guard lexer.objectID() != nil, let dictionary = lexer.value()?.dictionary, dictionary["Linearized"] != nil,
            // A file longer than it states was changed later, and its count may be outdated.
            let length = dictionary["L"]?.integer, length >= bytes.count, let count = dictionary["N"]?.integer,
            (1...maxPages).contains(count)
        else { return nil }
        return count
    }

    /// Returns the texts of an XMP property: its list items, or its own text.
    ///
    /// - Parameter metadata: The XMP metadata in valid UTF-8.
    private static func texts(_ name: String, in metadata: [UInt8]) -> [String] {
        metadata.withUnsafeBufferPointer { bytes in
            var reader = TagReader(bytes)
            var texts: [String] = []
            var isInside = false
            while let token = reader.next(), texts.count < maxAuthors {
                switch token {
                case .start(let range) where reader.isExactly(range, name): isInside = !reader.isSelfClosing
                case .end(let range) where reader.isExactly(range, name): return texts
                case .text(let range) where isInside && range.count <= maxText:
                    let text = Entities.decode(reader.text(range)).tidied
                    if !text.isEmpty { texts.append(text) }
                case .start, .end, .text, .other: break
                }
            }
            return texts
        }
    }
}
