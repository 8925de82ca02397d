/// Finds the objects of a file whose cross-reference is damaged, or missing because the file was truncated. It scans
/// the bytes once; the last definition of an object wins.
struct PDFScan {
    private static let maxObjectStreams = 2000

    private(set) var crossReference = PDFCrossReference()
    /// The object streams and their offsets, in file order.
    private(set) var objectStreams: [(number: Int, offset: Int)] = []
    private var catalog: Int?
    private var information: Int?
    /// The cost that may still be spent on reading bytes again after damage.
    private var againLeft: Int
    /// The cost of the scan and its lexers so far.
    private(set) var work: Int

    init(_ bytes: [UInt8]) {
        againLeft = max(1 << 20, bytes.count)
        work = bytes.count
        var at = 0
        while let (mark, isTrailer) = Self.mark(in: bytes, from: at) {
            at = isTrailer ? trailer(bytes, mark) : object(bytes, mark)
        }
        // Without a trailer, the last catalog is used, and the last dictionary that can only be the information
        // dictionary.
        if crossReference.trailer.isEmpty, let catalog {
            crossReference.trailer["Root"] = .reference(catalog)
            crossReference.trailer["Info"] = information.map(PDFObject.reference)
        }
        objectStreams = objectStreams.suffix(Self.maxObjectStreams)
    }

    /// Finds the next `obj` or `trailer`.
    private static func mark(in bytes: [UInt8], from start: Int) -> (at: Int, isTrailer: Bool)? {
        bytes.withUnsafeBufferPointer { bytes in
            var at = start
            while at + 2 < bytes.count {
                switch bytes[at] {
                case UInt8(ascii: "o") where bytes[at + 1] == UInt8(ascii: "b") && bytes[at + 2] == UInt8(ascii: "j"):
                    return (at, false)
                case UInt8(ascii: "t") where bytes[at...].starts(with: "trailer".utf8): return (at, true)
                default: at += 1
                }
            }
            return nil
        }
    }

    /// Reads a trailer.
    ///
    /// - Returns: The offset at which the scan continues.
    private mutating func trailer(_ bytes: [UInt8], _ mark: Int) -> Int {
        var lexer = PDFLexer(bytes, at: mark + 7)
        defer { work += lexer.work }
        guard let dictionary = lexer.value()?.dictionary else { return next(after: mark + 7, lexer) }
        take(trailer: dictionary)
        return lexer.furthest
    }

    /// Uses a trailer if it has a root. The last trailer of a linearized file may have none; such a trailer is ignored.
    private mutating func take(trailer: PDFDictionary) {
        if trailer["Root"] != nil { crossReference.trailer = trailer }
    }

    /// Reads the object around an `obj`.
    ///
    /// - Returns: The offset at which the scan continues.
    private mutating func object(_ bytes: [UInt8], _ mark: Int) -> Int {
        guard let start = Self.headStart(bytes, mark) else { return mark + 3 }
        var lexer = PDFLexer(bytes, at: start)
        defer { work += lexer.work }
        guard let id = lexer.objectID(), id.number < PDFCrossReference.maxNumber else { return mark + 3 }
        add(id.number, .offset(start))
        guard let value = lexer.value() else { return next(after: mark + 3, lexer) }
        guard let dictionary = value.dictionary else { return lexer.furthest }
        switch dictionary["Type"]?.name {
        case "Catalog": catalog = id.number
        case "XRef": take(trailer: dictionary)
        case "ObjStm":
            if objectStreams.count >= 2 * Self.maxObjectStreams { objectStreams.removeFirst(Self.maxObjectStreams) }
            objectStreams.append((id.number, start))
        case nil where Self.isInformation(dictionary): information = id.number
        default: break
        }
        guard let data = lexer.streamStart() else { return lexer.furthest }
        // If the end of the stream is uncertain, its data is scanned as well.
        return bytes.streamData(from: data, length: dictionary["Length"]?.integer)?.upperBound ?? data
    }

    /// Whether a dictionary is an information dictionary with a readable date, which shows that its strings are not
    /// encrypted.
    private static func isInformation(_ dictionary: PDFDictionary) -> Bool {
        guard dictionary["Producer"]?.string != nil || dictionary["Creator"]?.string != nil else { return false }
        return [dictionary["CreationDate"], dictionary["ModDate"]].contains {
            $0?.string?.starts(with: "D:".utf8) ?? false
        }
    }

    /// Returns where the scan continues after damage: directly after `mark`, so that no object is missed, or after all
    /// bytes already read if too many have been read again.
    private mutating func next(after mark: Int, _ lexer: PDFLexer) -> Int {
        guard lexer.work <= againLeft else { return max(mark, lexer.furthest) }
        againLeft -= lexer.work
        return mark
    }

    private mutating func add(_ number: Int, _ place: PDFCrossReference.Place) {
        guard crossReference.places.count < PDFCrossReference.maxCount || crossReference.places[number] != nil else {
            return
        }
        crossReference.places[number] = place
    }

    /// Returns where the two numbers before an `obj` begin; nil if there are none.
    private static func headStart(_ bytes: [UInt8], _ mark: Int) -> Int? {
        var at = mark
        for _ in 0..<2 {
            let end = at
            while at > 0, end - at < 8, PDFLexer.isSpace(bytes[at - 1]) { at -= 1 }
            let digits = at
            while at > 0, digits - at < 10, (0x30...0x39).contains(bytes[at - 1]) { at -= 1 }
            guard at < digits else { return nil }
        }
        return at
    }

    /// Adds the objects in an object stream, except those defined later in the file. Call this for the last object
    /// stream first.
    mutating func add(_ numbers: some Sequence<Int>, of stream: (number: Int, offset: Int)) {
        for number in numbers where number < PDFCrossReference.maxNumber {
            switch crossReference.places[number] {
            case .packed: continue
            case .offset(let offset) where offset > stream.offset: continue
            default: add(number, .packed(in: stream.number))
            }
        }
    }
}
