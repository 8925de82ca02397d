import WebSyntax

/// The decoders of the Encoding standard for encodings other than Unicode's (encoding.spec.whatwg.org, 9 to 13).
///
/// Invalid sequences become U+FFFD. If an invalid sequence ends with an ASCII byte, that byte is decoded separately, so
/// that no text can hide a tag.
struct LegacyDecoder {
    private let bytes: [UInt8]
    private var at = 0
    private var output: [UInt8] = []

    private init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = Array(bytes)
        output.reserveCapacity(bytes.count * 3 / 2)
    }

    /// - Returns: UTF-8; nil if the encoding is not one of these.
    static func decode(_ bytes: ArraySlice<UInt8>, from name: String) -> [UInt8]? {
        var decoder = LegacyDecoder(bytes)
        switch name {
        case "gbk", "gb18030": decoder.gb18030()
        case "big5": decoder.big5()
        case "euc-kr": decoder.eucKR()
        case "euc-jp": decoder.eucJP()
        case "shift_jis": decoder.shiftJIS()
        case "iso-2022-jp": decoder.iso2022JP()
        default:
            guard let upper = singleBytes[name] else { return nil }
            for byte in bytes { decoder.put(byte < 0x80 ? UInt32(byte) : upper[Int(byte) - 0x80]) }
        }
        return decoder.output
    }

    private mutating func put(_ code: UInt32) {
        let scalar = Unicode.Scalar(code) ?? "\u{FFFD}"
        if code < 0x80 { output.append(UInt8(code)) } else { output.append(contentsOf: UTF8.encode(scalar) ?? .init()) }
    }

    private mutating func putError() { output += [0xEF, 0xBF, 0xBD] }

    /// Appends the character at a pointer of an index. If there is none, appends U+FFFD, and an ASCII second byte is
    /// decoded again as a character.
    private mutating func put(_ index: [UInt32], _ pointer: Int?, second: UInt8) {
        if let pointer, index.indices.contains(pointer), index[pointer] != 0xFFFD {
            put(index[pointer])
        } else {
            putError()
            if second < 0x80 { at -= 1 }
        }
    }

    /// Returns the next byte of a character. If the text ends here, appends U+FFFD and returns nil.
    private mutating func second() -> UInt8? {
        guard at < bytes.count else {
            putError()
            return nil
        }
        defer { at += 1 }
        return bytes[at]
    }

    /// Decodes characters of one byte, and characters that begin with a lead byte and another one.
    ///
    /// - Parameters:
    ///   - leads: The lead bytes, in the order of the index's rows.
    ///   - trails: The second bytes, in the order of the index's columns.
    ///   - single: Returns the character of a byte from 0x80 on that is not a lead byte; nil if there is none.
    ///   - pair: Decodes two bytes. Their pointer in the index is nil if the second byte is not one of `trails`.
    private mutating func decode(
        leads: ClosedRange<UInt8>..., trails: [ClosedRange<UInt8>], single: (UInt8) -> UInt32? = { _ in nil },
        pair: (inout Self, _ first: UInt8, _ second: UInt8, _ pointer: Int?) -> Void
    ) {
        let (rows, columns) = (Self.positions(leads), Self.positions(trails))
        let width = columns.count { $0 != nil }
        while at < bytes.count {
            let first = bytes[at]
            at += 1
            if first < 0x80 {
                output.append(first)
            } else if let row = rows[Int(first)] {
                guard let second = second() else { return }
                pair(&self, first, second, columns[Int(second)].map { row * width + $0 })
            } else if let code = single(first) {
                put(code)
            } else {
                putError()
            }
        }
    }

    /// The position of each byte in a list of ranges; nil for a byte outside.
    private static func positions(_ ranges: [ClosedRange<UInt8>]) -> [Int?] {
        var positions = [Int?](repeating: nil, count: 256)
        for (position, byte) in ranges.joined().enumerated() { positions[Int(byte)] = position }
        return positions
    }

    private mutating func gb18030() {
        decode(
            leads: 0x81...0xFE, trails: [0x40...0x7E, 0x80...0xFE], single: { $0 == 0x80 ? 0x20AC : nil }
        ) { decoder, first, second, pointer in
            if (0x30...0x39).contains(second) {
                decoder.fourBytes(first, second)
            } else {
                decoder.put(Self.gb18030, pointer, second: second)
            }
        }
    }

    private mutating func fourBytes(_ first: UInt8, _ second: UInt8) {
        guard at + 1 < bytes.count else {
            putError()
            at = at < bytes.count && !(0x81...0xFE).contains(bytes[at]) ? at - 1 : bytes.count
            return
        }
        let (third, fourth) = (bytes[at], bytes[at + 1])
        guard (0x81...0xFE).contains(third), (0x30...0x39).contains(fourth) else {
            putError()
            at -= 1
            return
        }
        at += 2
        let pointer =
            ((Int(first) - 0x81) * 10 + Int(second) - 0x30) * 1260 + (Int(third) - 0x81) * 10 + Int(fourth) - 0x30
        if pointer == 7457 { return put(0xE7C7) }
        guard pointer <= 39419 || (189_000...1_237_575).contains(pointer),
            let range = Self.gb18030Ranges.last(where: { $0.pointer <= pointer })
        else { return putError() }
        put(UInt32(range.code + pointer - range.pointer))
    }

    private mutating func big5() {
        decode(leads: 0x81...0xFE, trails: [0x40...0x7E, 0xA1...0xFE]) { decoder, _, second, pointer in
            switch pointer {
            case 1133: for code in [0xCA, 0x304] as [UInt32] { decoder.put(code) }
            case 1135: for code in [0xCA, 0x30C] as [UInt32] { decoder.put(code) }
            case 1164: for code in [0xEA, 0x304] as [UInt32] { decoder.put(code) }
            case 1166: for code in [0xEA, 0x30C] as [UInt32] { decoder.put(code) }
            default: decoder.put(Self.big5, pointer, second: second)
            }
        }
    }

    private mutating func eucKR() {
        decode(leads: 0x81...0xFE, trails: [0x41...0xFE]) { decoder, _, second, pointer in
            decoder.put(Self.eucKR, pointer, second: second)
        }
    }

    private mutating func eucJP() {
        decode(leads: 0xA1...0xFE, 0x8E...0x8F, trails: [0xA1...0xFE]) { decoder, first, second, pointer in
            if first == 0x8E, (0xA1...0xDF).contains(second) {
                decoder.put(0xFF61 + UInt32(second) - 0xA1)
            } else if first == 0x8F, pointer != nil {
                guard let third = decoder.second() else { return }
                let isTrail = (0xA1...0xFE).contains(third)
                let pointer = (Int(second) - 0xA1) * 94 + Int(third) - 0xA1
                decoder.put(Self.jis0212, isTrail ? pointer : nil, second: third)
            } else {
                decoder.put(Self.jis0208, first >= 0xA1 ? pointer : nil, second: second)
            }
        }
    }

    private mutating func shiftJIS() {
        decode(
            leads: 0x81...0x9F, 0xE0...0xFC, trails: [0x40...0x7E, 0x80...0xFC],
            single: { $0 == 0x80 ? 0x80 : (0xA1...0xDF).contains($0) ? 0xFF61 + UInt32($0) - 0xA1 : nil }
        ) { decoder, _, second, pointer in
            if let pointer, (8836...10715).contains(pointer) {
                decoder.put(UInt32(0xE000 - 8836 + pointer))
            } else {
                decoder.put(Self.jis0208, pointer, second: second)
            }
        }
    }

    private mutating func iso2022JP() {
        enum State { case ascii, roman, katakana, jis0208 }
        var state = State.ascii
        while at < bytes.count {
            let first = bytes[at]
            at += 1
            if first == 0x1B {
                let escape = bytes[at...].prefix(2)
                at += 2
                switch (escape.first, escape.last) {
                case (0x28, 0x42): state = .ascii
                case (0x28, 0x4A): state = .roman
                case (0x28, 0x49): state = .katakana
                case (0x24, 0x40), (0x24, 0x42): state = .jis0208
                default:
                    at -= 2
                    putError()
                }
                continue
            }
            switch state {
            case .ascii where first < 0x80 && first != 0x0E && first != 0x0F: output.append(first)
            case .roman where first < 0x80 && first != 0x0E && first != 0x0F:
                put(first == 0x5C ? 0xA5 : first == 0x7E ? 0x203E : UInt32(first))
            case .katakana where (0x21...0x5F).contains(first): put(0xFF61 + UInt32(first) - 0x21)
            case .jis0208 where (0x21...0x7E).contains(first):
                guard let second = second() else { return }
                if (0x21...0x7E).contains(second) {
                    put(Self.jis0208[(Int(first) - 0x21) * 94 + Int(second) - 0x21])
                } else {
                    putError()
                    if second == 0x1B { at -= 1 }
                }
            default: putError()
            }
        }
    }

    private static let singleBytes: [String: [UInt32]] = {
        var tables = IndexSingleByte.characters.mapValues { $0.unicodeScalars.map(\.value) }
        // These two encodings have the same characters and differ only in display order.
        tables["iso-8859-8-i"] = tables["iso-8859-8"]
        tables["x-user-defined"] = Array(0xF780...0xF7FF)
        return tables
    }()
    private static let gb18030 = IndexGB18030.characters.unicodeScalars.map(\.value)
    private static let big5 = IndexBig5.characters.unicodeScalars.map(\.value)
    private static let eucKR = IndexEUCKR.characters.unicodeScalars.map(\.value)
    private static let jis0208 = IndexJIS0208.characters.unicodeScalars.map(\.value)
    private static let jis0212 = IndexJIS0212.characters.unicodeScalars.map(\.value)
    private static let gb18030Ranges: [(pointer: Int, code: Int)] = IndexGB18030Ranges.pairs.split(
        whereSeparator: \.isWhitespace
    )
    .compactMap { pair in
        let parts = pair.split(separator: ":").compactMap { Int($0, radix: 16) }
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
}
