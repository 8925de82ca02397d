/// Reads the objects of a file.
struct PDFFile {
    /// The decoded bytes of an object stream, and the offset of each object in them.
    private struct ObjectStream {
        var bytes: [UInt8]
        var starts: [Int: Int]
    }

    private let bytes: PDFBytes
    private let crossReference: PDFCrossReference
    private var objectStreams: [Int: ObjectStream] = [:]
    private(set) var budget: PDFBudget

    var trailer: PDFDictionary { crossReference.trailer }

    /// Whether strings and most streams are encrypted. They are not decrypted.
    var isEncrypted: Bool {
        switch trailer["Encrypt"] {
        case nil, .null: false
        default: true
        }
    }

    init(_ bytes: PDFBytes, _ crossReference: PDFCrossReference, _ budget: PDFBudget) {
        self.bytes = bytes
        self.crossReference = crossReference
        self.budget = budget
        self.budget.renew()
    }

    /// Follows references until it finds a value. Returns nil if there is none within eight steps.
    mutating func resolve(_ value: PDFObject?) -> PDFObject? {
        var value = value
        for _ in 0..<8 {
            guard case .reference(let number) = value else { return value }
            value = object(number)
        }
        return nil
    }

    private mutating func object(_ number: Int) -> PDFObject? {
        switch crossReference.locations[number] {
        case nil, .free: return nil
        case .offset(let offset): return plainObject(number, at: offset)
        case .packed(in: let container):
            guard let stream = objectStream(container), let start = stream.starts[number], budget.input > 0 else {
                return nil
            }
            var lexer = PDFLexer(stream.bytes, at: start)
            defer { budget.read(lexer.work) }
            return lexer.value()
        }
    }

    /// Returns the object at an offset; nil if it was not read, or if another object is there.
    private mutating func plainObject(_ number: Int, at offset: Int) -> PDFObject? {
        guard budget.input > 0, var lexer = bytes.lexer(at: offset) else { return nil }
        defer { budget.read(lexer.work) }
        guard lexer.objectNumber() == number, let value = lexer.value() else { return nil }
        guard case .dictionary(let dictionary) = value, let start = lexer.streamStart() else { return value }
        return .stream(PDFStream(dictionary: dictionary, bytes: lexer.bytes, start: start))
    }

    private mutating func objectStream(_ number: Int) -> ObjectStream? {
        if let known = objectStreams[number] { return known }
        // The standard does not allow an object stream inside another one.
        guard case .offset(let offset) = crossReference.locations[number],
            let stream = plainObject(number, at: offset)?.stream, let data = data(of: stream),
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

    /// Returns the decoded content of a stream; nil if its length is wrong or it cannot be decoded.
    mutating func data(of stream: PDFStream) -> [UInt8]? {
        let length = direct(stream.dictionary["Length"])?.integer
        guard let range = stream.bytes.streamData(from: stream.start, length: length) else { return nil }
        var dictionary = stream.dictionary
        for key in ["Filter", "DecodeParms"] {
            dictionary[key] = direct(dictionary[key])
            if case .array(let values) = dictionary[key] {
                guard values.count <= PDFFilter.maxCount else { return nil }
                dictionary[key] = .array(values.map { direct($0) ?? .null })
            }
        }
        // Decoding hardly ever makes data shorter, so more input than the output budget is not useful.
        return PDFFilter.decode(stream.bytes[range].prefix(max(0, budget.output)), by: dictionary, &budget)
    }

    /// Resolves a reference to an object that is not in an object stream. This is enough for a stream's length and
    /// filters.
    private mutating func direct(_ value: PDFObject?) -> PDFObject? {
        guard case .reference(let number) = value else { return value }
        guard case .offset(let offset) = crossReference.locations[number] else { return nil }
        return plainObject(number, at: offset)
    }
}
