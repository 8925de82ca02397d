/// Reads the objects of a file. Strings stay encrypted until ``string(of:)`` decrypts one.
struct PDFFile {
    /// A value and the object that contains it. Decrypting a string in the value takes that object's number. The owner
    /// is nil for values whose strings are not encrypted separately.
    struct Found {
        var value: PDFObject
        var owner: PDFObjectID?

        static var nothing: Found { Found(value: .null) }

        /// The value of a key, if this value is a dictionary or a stream; otherwise null.
        subscript(key: String) -> Found { Found(value: value.dictionary?[key] ?? .null, owner: owner) }
    }

    /// The decoded bytes of an object stream, and the offset of each object in them.
    private struct ObjectStream {
        var bytes: [UInt8]
        var starts: [Int: Int]
    }

    let bytes: [UInt8]
    private var crossReference: PDFCrossReference
    private var decryption: PDFDecryption?
    private var objectStreams: [Int: ObjectStream] = [:]
    private(set) var budget: PDFBudget
    /// Whether an object was not where the cross-reference says.
    private(set) var isDamaged = false

    var trailer: Found { Found(value: .dictionary(crossReference.trailer)) }

    init(_ bytes: [UInt8], _ crossReference: PDFCrossReference, _ budget: PDFBudget) {
        self.bytes = bytes
        self.crossReference = crossReference
        self.budget = budget
        self.budget.renew()
        unlock()
    }

    /// Opens a file without using its cross-reference: it scans all bytes for objects.
    init(scanning bytes: [UInt8], _ budget: PDFBudget) {
        var scan = PDFScan(bytes)
        self.init(bytes, scan.crossReference, budget)
        self.budget.note(scan.work)
        for stream in scan.objectStreams.reversed() {
            guard let numbers = objectStream(stream.number)?.starts.keys else { continue }
            scan.add(numbers, of: stream)
        }
        crossReference = scan.crossReference
        self.budget.renew()
    }

    private mutating func unlock() {
        let encryption = trailer["Encrypt"]
        if case .null = encryption.value { return }
        // If the encryption dictionary cannot be found, the file still counts as encrypted, and nothing can be
        // decrypted.
        let dictionary = resolve(encryption).value.dictionary ?? [:]
        decryption = PDFDecryption(dictionary, id: resolve(trailer["ID"]).value.array?.first?.string ?? [])
    }

    /// Follows references until it finds a value. Returns null if there is none within eight steps.
    mutating func resolve(_ found: Found) -> Found {
        var found = found
        for _ in 0..<8 {
            guard case .reference(let number) = found.value else { return found }
            found = object(number) ?? .nothing
        }
        return .nothing
    }

    /// Returns the decrypted bytes of a string; nil if the value is not a string or cannot be decrypted.
    mutating func string(of found: Found) -> [UInt8]? {
        let found = resolve(found)
        guard let string = found.value.string, let decryption, let owner = found.owner else {
            return found.value.string
        }
        budget.read(string.count)
        return decryption.decrypt(string: string, of: owner)
    }

    private mutating func object(_ number: Int) -> Found? {
        switch crossReference.places[number] {
        case nil, .free: return nil
        case .offset(let offset):
            guard let (value, id) = plainObject(number, at: offset) else {
                isDamaged = true
                return nil
            }
            return Found(value: value, owner: id)
        case .packed(in: let container):
            guard let stream = objectStream(container), let start = stream.starts[number] else {
                isDamaged = true
                return nil
            }
            guard budget.input > 0 else { return nil }
            var lexer = PDFLexer(stream.bytes, at: start)
            defer { budget.read(lexer.work) }
            return lexer.value().map { Found(value: $0) }
        }
    }

    private mutating func plainObject(_ number: Int, at offset: Int) -> (PDFObject, PDFObjectID)? {
        guard bytes.indices.contains(offset), budget.input > 0 else { return nil }
        var lexer = PDFLexer(bytes, at: offset)
        defer { budget.read(lexer.work) }
        guard let id = lexer.objectID(), id.number == number, let value = lexer.value() else { return nil }
        guard case .dictionary(let dictionary) = value, let start = lexer.streamStart() else { return (value, id) }
        return (.stream(PDFStream(dictionary: dictionary, start: start, id: id)), id)
    }

    private mutating func objectStream(_ number: Int) -> ObjectStream? {
        if let known = objectStreams[number] { return known }
        // The standard does not allow an object stream inside another one.
        guard case .offset(let offset) = crossReference.places[number],
            let stream = plainObject(number, at: offset)?.0.stream, let data = data(of: stream),
            let first = stream.dictionary["First"]?.integer, (0...data.count).contains(first)
        else { return nil }
        var found = ObjectStream(bytes: data, starts: [:])
        var lexer = PDFLexer(data)
        defer { budget.read(lexer.work) }
        while lexer.at < first, let number = lexer.integer(), let offset = lexer.integer() {
            guard offset >= 0, offset < data.count - first else { continue }
            found.starts[number] = first + offset
        }
        objectStreams[number] = found
        return found
    }

    /// Returns the content of a stream, decrypted and decoded; nil if that is not possible.
    mutating func data(of stream: PDFStream) -> [UInt8]? {
        guard let range = range(of: stream) else { return nil }
        var dictionary = stream.dictionary
        for key in ["Filter", "DecodeParms"] {
            dictionary[key] = direct(dictionary[key])
            if case .array(let values) = dictionary[key] {
                guard values.count <= PDFFilter.maxCount else { return nil }
                dictionary[key] = .array(values.map { direct($0) ?? .null })
            }
        }
        // Decoding hardly ever makes data shorter, so more input than the output budget is not useful.
        var data = bytes[range].prefix(max(0, budget.output))
        if let decryption {
            guard data.count <= budget.input, let plain = decryption.decrypt(data, of: stream.id, dictionary) else {
                return nil
            }
            budget.read(data.count)
            data = plain[...]
        }
        return PDFFilter.decode(data, by: dictionary, &budget)
    }

    /// Returns the range of a stream's data: its stated length, if `endstream` follows, otherwise the bytes up to the
    /// next `endstream` or the end of a truncated file. Nil if the budget ends first.
    private mutating func range(of stream: PDFStream) -> Range<Int>? {
        let length = direct(stream.dictionary["Length"])?.integer
        if let range = bytes.streamData(from: stream.start, length: length) { return range }
        let end = min(bytes.count, stream.start + max(0, budget.input))
        let mark = bytes[stream.start..<end].firstPlace(of: Array("endstream".utf8))
        budget.read((mark ?? end) - stream.start)
        return mark == nil && end < bytes.count ? nil : stream.start..<(mark ?? end)
    }

    /// Resolves a reference to an object that is not in an object stream, without decrypting it. This is enough for a
    /// stream's length and filters.
    private mutating func direct(_ value: PDFObject?) -> PDFObject? {
        guard case .reference(let number) = value else { return value }
        guard case .offset(let offset) = crossReference.places[number] else { return nil }
        return plainObject(number, at: offset)?.0
    }
}
