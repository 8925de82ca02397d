/// A PDF's metadata, from its information dictionary, its XMP metadata and the count in its page tree (ISO 32000-2, 7.7
/// and 14.3). Facts that are uncertain are omitted.
struct PDFFacts: Hashable {
    var pages: Int?
    var title: String?
    var authors: [String]?

    private static let maxAuthors = 20
    private static let maxPages = 10_000_000
    /// The maximum size of a title or a name in bytes. A longer one is ignored.
    private static let maxText = 4096
    /// The number of bytes of the XMP metadata that are read.
    private static let maxMetadata = 512 << 10

    /// - Parameter gap: The part of the file that is missing from `bytes`, if they are the two ends of a long file.
    /// - Returns: Nil if the file is not a PDF.
    static func read(_ bytes: [UInt8], gap: Range<Int>? = nil) -> PDFFacts? {
        var budget = PDFBudget(for: bytes.count)
        return read(bytes, gap: gap, &budget)
    }

    static func read(_ bytes: [UInt8], gap: Range<Int>? = nil, _ budget: inout PDFBudget) -> PDFFacts? {
        guard let bytes = PDFBytes(bytes, gap: gap) else { return nil }
        var facts = PDFFacts()
        if let crossReference = PDFSections.read(bytes, &budget) {
            var file = PDFFile(bytes, crossReference, budget)
            add(from: &file, to: &facts)
            budget = file.budget
        }
        facts.pages = facts.pages ?? linearizedPages(bytes)
        return facts
    }

    private static func add(from file: inout PDFFile, to facts: inout PDFFacts) {
        // The strings of an encrypted file are encrypted.
        let information = file.isEncrypted ? nil : file.resolve(file.trailer["Info"])?.dictionary
        let catalog = file.resolve(file.trailer["Root"])?.dictionary
        facts.title = text(information?["Title"], in: &file)
        facts.authors = text(information?["Author"], in: &file).map { [$0] }
        if facts.title == nil || facts.authors == nil,
            let stream = file.resolve(catalog?["Metadata"])?.stream, let data = file.data(of: stream)
        {
            let metadata = Charset.decode(Array(data.prefix(maxMetadata)), contentType: nil).utf8
            facts.title = facts.title ?? texts("dc:title", in: metadata).first
            let creators = texts("dc:creator", in: metadata)
            facts.authors = facts.authors ?? (creators.isEmpty ? nil : creators)
        }
        facts.pages = pages(catalog, in: &file)
    }

    private static func text(_ value: PDFObject?, in file: inout PDFFile) -> String? {
        let text = file.resolve(value)?.string.flatMap(PDFText.decode)?.tidied ?? ""
        return text.isEmpty || text.utf8.count > maxText ? nil : text
    }

    private static func pages(_ catalog: PDFDictionary?, in file: inout PDFFile) -> Int? {
        guard let tree = file.resolve(catalog?["Pages"])?.dictionary, tree["Kids"] != nil, tree["Parent"] == nil,
            let count = file.resolve(tree["Count"])?.integer, (1...maxPages).contains(count)
        else { return nil }
        // Every child has at least one page, and every page is an object. A count that contradicts this is wrong.
        if let branches = tree["Kids"]?.array, branches.count > count { return nil }
        if let size = file.trailer["Size"]?.integer, count >= size { return nil }
        return count
    }

    /// Returns the page count that a linearized file states at its beginning, for a file whose page tree is not in the
    /// bytes that were read.
    private static func linearizedPages(_ bytes: PDFBytes) -> Int? {
        var lexer = PDFLexer(Array(bytes.head.prefix(2048)))
        guard lexer.objectNumber() != nil, let dictionary = lexer.value()?.dictionary, dictionary["Linearized"] != nil,
            // A file longer than it states was changed later, and its count may be outdated.
            let length = dictionary["L"]?.integer, length >= bytes.count, let count = dictionary["N"]?.integer,
            (1...maxPages).contains(count)
        else { return nil }
        return count
    }

    /// Returns the texts of an XMP property: its list items, or its own text.
    ///
    /// - Parameter metadata: The XMP metadata in valid UTF-8.
    private static func texts(_ name: HTMLName, in metadata: [UInt8]) -> [String] {
        metadata.withUnsafeBufferPointer { bytes in
            var reader = TagReader(bytes, isXML: true)
            var texts: [String] = []
            var isInside = false
            while let token = reader.next(), texts.count < maxAuthors {
                switch token {
                case .start(name): isInside = !reader.isSelfClosing
                case .end(name): return texts
                case .text(let range) where isInside && range.count <= maxText:
                    let text = CharacterReferences.decode(reader.text(range)).tidied
                    if !text.isEmpty { texts.append(text) }
                case .start, .end, .text, .rawText, .other: break
                }
            }
            return texts
        }
    }
}
