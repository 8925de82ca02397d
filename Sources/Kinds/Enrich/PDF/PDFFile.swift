/// The objects of a file, decrypted; where the empty password does not open it, strings are null.
struct PDFFile {
    /// Its decoded bytes, and where in them each object begins.
    private struct ObjectStream {
        var bytes: [UInt8]
        var starts: [Int: Int]
    }

    let bytes: [UInt8]
    private var crossReference: PDFCrossReference
    private var decryption: PDFDecryption?
    private var objectStreams: [Int: ObjectStream] = [:]
    private var budget: PDFBudget
    /// Whether something was not where the cross-reference says.
    private(set) var isDamaged = false

    var trailer: PDFDictionary { crossReference.trailer }

    init(_ bytes: [UInt8], _ crossReference: PDFCrossReference) {
        self.bytes = bytes
        self.crossReference = crossReference
        budget = PDFBudget(for: bytes.count)
        unlock()
    }

    /// Without a cross-reference.
    init(scanning bytes: [UInt8]) {
        var scan = PDFScan(bytes)
        self.init(bytes, scan.crossReference)
        for stream in scan.objectStreams.reversed() {
            guard let numbers = objectStream(stream.number)?.starts.keys else { continue }
            scan.add(numbers, of: stream)
        }
        crossReference = scan.crossReference
        budget = PDFBudget(for: bytes.count)
    }

    private mutating func unlock() {
        guard let encryption = trailer["Encrypt"] else { return }
        let value = resolve(encryption)
        // What cannot be found does encrypt, but nobody knows how.
        if case .null = encryption { return }
        let id = resolve(trailer["ID"]).array?.first?.string ?? []
        decryption = PDFDecryption(value.dictionary ?? [:], id: id)
    }

    /// What a value is, or refers to; null when there is nothing.
    mutating func resolve(_ value: PDFObject?) -> PDFObject {
        var value = value ?? .null
        for _ in 0..<8 {
            guard case .reference(let number) = value else { return value }
            value = object(number) ?? .null
        }
        return .null
    }

    private mutating func object(_ number: Int) -> PDFObject? {
        switch crossReference.places[number] {
        case nil, .free: return nil
        case .offset(let offset):
            guard let (value, id) = plainObject(number, at: offset) else {
                isDamaged = true
                return nil
            }
            guard let decryption else { return value }
            return value.mapStrings { decryption.decrypt(string: $0, of: id) }
        case .packed(in: let container):
            guard let stream = objectStream(container), let start = stream.starts[number] else {
                isDamaged = true
                return nil
            }
            var lexer = PDFLexer(stream.bytes, at: start)
            return lexer.value()
        }
    }

    private mutating func plainObject(_ number: Int, at offset: Int) -> (PDFObject, PDFObjectID)? {
        guard bytes.indices.contains(offset), budget.input > 0 else { return nil }
        var lexer = PDFLexer(bytes, at: offset)
        defer { budget.input -= lexer.at - offset }
        guard let id = lexer.objectID(), id.number == number, let value = lexer.value() else { return nil }
        guard case .dictionary(let dictionary) = value, let start = lexer.streamStart() else { return (value, id) }
        return (.stream(PDFStream(dictionary: dictionary, start: start, id: id)), id)
    }

    private mutating func objectStream(_ number: Int) -> ObjectStream? {
        if let known = objectStreams[number] { return known }
        // Object streams are in none.
        guard case .offset(let offset) = crossReference.places[number],
            let stream = plainObject(number, at: offset)?.0.stream, let data = data(of: stream),
            let first = stream.dictionary["First"]?.integer, (0...data.count).contains(first)
        else { return nil }
        var found = ObjectStream(bytes: data, starts: [:])
        var lexer = PDFLexer(data)
        while lexer.at < first, let number = lexer.integer(), let offset = lexer.integer() {
            guard offset >= 0, offset < data.count - first else { continue }
            found.starts[number] = first + offset
        }
        objectStreams[number] = found
        return found
    }

    /// What a stream holds, decrypted and decoded; nil when that is not possible.
    mutating func data(of stream: PDFStream) -> [UInt8]? {
        guard let range = range(of: stream) else { return nil }
        var dictionary = stream.dictionary
        for key in ["Filter", "DecodeParms"] {
            dictionary[key] = direct(dictionary[key])
            if case .array(let values) = dictionary[key] {
                dictionary[key] = .array(values.map { direct($0) ?? .null })
            }
        }
        var data = bytes[range]
        if let decryption {
            guard data.count <= budget.input, let plain = decryption.decrypt(data, of: stream.id, dictionary) else {
                return nil
            }
            budget.input -= data.count
            data = plain[...]
        }
        return PDFFilter.decode(data, by: dictionary, &budget)
    }

    /// By its length, or else up to the next `endstream` or the end of what is there of the file.
    private mutating func range(of stream: PDFStream) -> Range<Int>? {
        let length = direct(stream.dictionary["Length"])?.integer
        if let range = bytes.streamData(from: stream.start, length: length) { return range }
        let end = min(bytes.count, stream.start + max(0, budget.input))
        let mark = bytes[stream.start..<end].firstPlace(of: Array("endstream".utf8))
        budget.input -= (mark ?? end) - stream.start
        return mark == nil && end < bytes.count ? nil : stream.start..<(mark ?? end)
    }

    /// What a reference leads to in the file itself, without any decryption: a length, or a filter.
    private mutating func direct(_ value: PDFObject?) -> PDFObject? {
        guard case .reference(let number) = value else { return value }
        guard case .offset(let offset) = crossReference.places[number] else { return nil }
        return plainObject(number, at: offset)?.0
    }
}
