import WebSyntax

extension StringProtocol {
    /// The words of an attribute value that is a space-separated list, like `rel` and `itemprop` (HTML standard,
    /// 2.3.7).
    var tokens: [String] { utf8.split(whereSeparator: \.isSpace).map { String(decoding: $0, as: UTF8.self) } }
}

/// The UTF-8 form of the bytes 0x80 to 0x9F in windows-1252; empty for bytes that have no character there.
private let windowsCharacters = (IndexSingleByte.characters["windows-1252"] ?? "").unicodeScalars.prefix(32).map {
    $0.value < 0xA0 ? [] : Array(String($0).utf8)
}

extension StringProtocol {
    /// The text with each run of white space collapsed to one space, none at the ends, and without control characters.
    ///
    /// The characters U+0080 to U+009F come from references like `&#128;` and are replaced by the windows-1252
    /// characters with those codes (HTML standard, 13.2.5.80).
    package var tidied: String {
        var copy = String(self)
        return copy.withUTF8 { bytes in
            // No replacement turns two bytes into more than three.
            String(unsafeUninitializedCapacity: bytes.count + bytes.count / 2) { output in
                var count = 0
                var at = 0
                var needsSpace = false
                while at < bytes.count {
                    let (length, isSpace, isKept) = bytes.character(at: at)
                    if isSpace {
                        needsSpace = count > 0
                    } else if isKept {
                        if needsSpace {
                            output[count] = 0x20
                            count += 1
                        }
                        needsSpace = false
                        if bytes[at] == 0xC2, bytes[at + 1] < 0xA0 {
                            for byte in windowsCharacters[Int(bytes[at + 1]) - 0x80] {
                                output[count] = byte
                                count += 1
                            }
                        } else {
                            for offset in 0..<length { output[count + offset] = bytes[at + offset] }
                            count += length
                        }
                    }
                    at += length
                }
                return count
            }
        }
    }

    /// The letters and digits of the text in lower case, for comparing names that differ only in punctuation and
    /// spaces.
    var bareLetters: String {
        var copy = String(self)
        let ascii = copy.withUTF8 { bytes -> [UInt8]? in
            var kept: [UInt8] = []
            kept.reserveCapacity(bytes.count)
            for byte in bytes {
                switch byte {
                case 0x30...0x39, 0x61...0x7A: kept.append(byte)
                case 0x41...0x5A: kept.append(byte | 0x20)
                case 0x80...: return nil
                default: break
                }
            }
            return kept
        }
        if let ascii { return String(decoding: ascii, as: UTF8.self) }
        return copy.lowercased().filter { $0.isLetter || $0.isNumber }
    }

    /// The pieces of the text between occurrences of `separator`, without white space at their ends.
    func parts(separatedBy separator: String) -> [String] {
        let (text, mark) = (Array(utf8), Array(separator.utf8))
        var parts: [String] = []
        var start = 0
        var at = 0
        while at + mark.count <= text.count {
            if text[at] == mark[0], text[at..<at + mark.count].elementsEqual(mark) {
                parts.append(String(decoding: text[start..<at], as: UTF8.self).trimmingSpaces)
                at += mark.count
                start = at
            } else {
                at += 1
            }
        }
        return parts + [String(decoding: text[start...], as: UTF8.self).trimmingSpaces]
    }
}

extension String {
    /// The text before and after the first occurrence of `mark`; nil if there is none.
    func cut(at mark: String) -> (before: String, after: String)? {
        let (text, mark) = (Array(utf8), Array(mark.utf8))
        guard let start = text.firstIndex(of: mark) else { return nil }
        return (
            String(decoding: text[..<start], as: UTF8.self),
            String(decoding: text[(start + mark.count)...], as: UTF8.self)
        )
    }
}

extension String {
    /// Whether the text contains `mark`, compared byte by byte. `mark` must not be empty.
    func has(_ mark: StaticString) -> Bool {
        let mark = UnsafeBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
        return utf8.withContiguousStorageIfAvailable { $0.firstIndex(of: mark) != nil }
            ?? (Array(utf8).firstIndex(of: mark) != nil)
    }
}

extension String {
    /// The beginning of the text: at most `bytes` bytes of UTF-8, cut at a scalar boundary.
    func cut(to bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: bytes)
        while String.Index(end, within: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

extension RandomAccessCollection<UInt8> where Index == Int {
    /// The index of the first occurrence of `mark`; nil if there is none or `mark` is empty.
    func firstIndex(of mark: some RandomAccessCollection<UInt8>) -> Int? {
        guard let first = mark.first else { return nil }
        var at = startIndex
        while at + mark.count <= endIndex {
            if self[at] == first, self[at..<at + mark.count].elementsEqual(mark) { return at }
            at += 1
        }
        return nil
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Returns the UTF-8 length of the character at `index`, whether it is white space, and whether
    /// ``StringProtocol/tidied`` keeps it: control characters are dropped. The bytes must be valid UTF-8.
    fileprivate func character(at index: Int) -> (length: Int, isSpace: Bool, isKept: Bool) {
        let first = self[index]
        if first < 0x80 { return (1, first == 0x20 || (0x09...0x0D).contains(first), first > 0x20 && first != 0x7F) }
        if first < 0xE0 {
            let second = self[index + 1]
            if first == 0xC2, second < 0xA0 { return (2, false, !windowsCharacters[Int(second) - 0x80].isEmpty) }
            if first == 0xC2, second == 0xA0 { return (2, true, false) }
            return (2, false, true)
        }
        if first < 0xF0 {
            let code = UInt32(first & 0x0F) << 12 | UInt32(self[index + 1] & 0x3F) << 6 | UInt32(self[index + 2] & 0x3F)
            let isSpace =
                (0x2000...0x200A).contains(code) || [0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000].contains(code)
            return (3, isSpace, true)
        }
        return (4, false, true)
    }
}
