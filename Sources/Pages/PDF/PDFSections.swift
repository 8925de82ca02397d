import WebSyntax

/// Reads the cross-reference of a file: tables and streams, each of which points to an older one (ISO 32000-2, 7.5.4
/// and 7.5.8).
struct PDFSections {
    private static let maxSections = 1000

    private let bytes: PDFBytes
    private var locations: [Int: PDFCrossReference.Location] = [:]
    private var entries = 0
    private var budget: PDFBudget

    /// - Returns: The cross-reference that begins at the last `startxref`, up to the first section that is invalid or
    ///   was not read; nil if that is the newest one.
    static func read(_ bytes: PDFBytes, _ budget: inout PDFBudget) -> PDFCrossReference? {
        var sections = PDFSections(bytes: bytes, budget: budget)
        defer { budget = sections.budget }
        return sections.read()
    }

    private mutating func read() -> PDFCrossReference? {
        let end = bytes.end
        guard let start = end.lastIndex(of: Array("startxref".utf8)) else { return nil }
        var lexer = PDFLexer(end, at: start + 9)
        let first = lexer.integer()
        budget.read(end.count - start + lexer.work)
        guard let first else { return nil }
        var trailer: PDFDictionary = [:]
        var next = [first]
        var seen: Set<Int> = []
        while let offset = next.popLast() {
            guard seen.insert(offset).inserted else { continue }
            // The entries of newer sections hold, whatever the older ones contain.
            guard seen.count <= Self.maxSections else { break }
            guard let section = add(at: offset) else {
                // Word writes an empty newest table, whose predecessor lists every object outside object streams.
                if locations.isEmpty, seen.count > 1 { continue }
                break
            }
            if seen.count == 1 { trailer = section }
            if let previous = section["Prev"]?.integer { next.append(previous) }
            // Appended last, so that it is read before the previous sections: its entries take precedence over theirs.
            if let hidden = section["XRefStm"]?.integer { next.append(hidden) }
        }
        return trailer["Root"] == nil ? nil : PDFCrossReference(locations: locations, trailer: trailer)
    }

    /// Adds the entries of a section. Entries of newer sections are not replaced.
    ///
    /// - Returns: The section's dictionary; nil if the section is invalid or was not read.
    private mutating func add(at offset: Int) -> PDFDictionary? {
        guard budget.input > 0, var lexer = bytes.lexer(at: offset) else { return nil }
        defer { budget.read(lexer.work) }
        return lexer.take("xref") ? addTable(&lexer) : addStream(&lexer)
    }

    private mutating func addTable(_ lexer: inout PDFLexer) -> PDFDictionary? {
        var section: [Int: PDFCrossReference.Location] = [:]
        while !lexer.take("trailer") {
            guard let start = lexer.integer(), let count = lexer.integer(), start >= 0, count >= 0 else { return nil }
            for index in 0..<count {
                guard let offset = lexer.integer(), lexer.integer() != nil, entries < PDFCrossReference.maxCount,
                    start + index < PDFCrossReference.maxNumber
                else { return nil }
                entries += 1
                if lexer.take("n") {
                    section[start + index] = offset > 0 ? .offset(offset) : .free
                } else {
                    guard lexer.take("f") else { return nil }
                    section[start + index] = .free
                }
            }
        }
        guard let dictionary = lexer.value()?.dictionary else { return nil }
        // In a hybrid file, the objects that only the stream lists are marked as free in the table, so that old readers
        // ignore them. Those entries must not hide the stream's.
        if dictionary["XRefStm"] != nil { section = section.filter { $0.value != .free } }
        locations.merge(section) { newer, _ in newer }
        return dictionary
    }

    private mutating func addStream(_ lexer: inout PDFLexer) -> PDFDictionary? {
        guard lexer.objectNumber() != nil, let dictionary = lexer.value()?.dictionary,
            dictionary["Type"]?.name == "XRef", let start = lexer.streamStart(),
            let range = lexer.bytes.streamData(from: start, length: dictionary["Length"]?.integer),
            let data = PDFFilter.decode(lexer.bytes[range], by: dictionary, &budget),
            let widths = dictionary["W"]?.array?.compactMap(\.integer), widths.count == 3,
            widths.allSatisfy({ (0...8).contains($0) }), widths.contains(where: { $0 > 0 })
        else { return nil }
        let size = dictionary["Size"]?.integer ?? 0
        let index = dictionary["Index"]?.array?.compactMap(\.integer) ?? [0, size]
        var at = 0
        func field(_ width: Int) -> Int? {
            guard width > 0 else { return nil }
            defer { at += width }
            return Int(truncatingIfNeeded: data[at..<at + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
        for pair in stride(from: 0, to: index.count - 1, by: 2) {
            guard index[pair] >= 0, index[pair + 1] >= 0 else { return nil }
            for offset in 0..<index[pair + 1] {
                // The stream is shorter than it states. The entries that it contains are used.
                guard at + widths[0] + widths[1] + widths[2] <= data.count else { return dictionary }
                guard index[pair] < PDFCrossReference.maxNumber, offset < PDFCrossReference.maxNumber,
                    entries < PDFCrossReference.maxCount
                else { return nil }
                entries += 1
                let (kind, first) = (field(widths[0]) ?? 1, field(widths[1]) ?? 0)
                _ = field(widths[2])
                let number = index[pair] + offset
                guard locations[number] == nil else { continue }
                locations[number] = kind == 1 ? .offset(first) : kind == 2 ? .packed(in: first) : .free
            }
        }
        return dictionary
    }
}

extension [UInt8] {
    /// The index of the last occurrence of `mark`, which must not be empty; nil if there is none.
    fileprivate func lastIndex(of mark: [UInt8]) -> Int? {
        var at = count - mark.count
        while at >= 0 {
            if self[at] == mark[0], self[at..<at + mark.count].elementsEqual(mark) { return at }
            at -= 1
        }
        return nil
    }

    /// The range of `length` bytes of stream data from `start`; nil if `endstream` does not follow them.
    func streamData(from start: Int, length: Int?) -> Range<Int>? {
        guard let length, length >= 0, length <= count - start else { return nil }
        var mark = start + length
        while mark < count, mark < start + length + 4, PDFLexer.isSpace(self[mark]) { mark += 1 }
        return self[mark...].starts(with: "endstream".utf8) ? start..<start + length : nil
    }
}
