/// The bytes of a file that were read: all of them, or the two ends of a long file.
struct PDFBytes {
    /// The beginning of the file, from `%PDF-` on. Offsets in the file count from there, since other bytes may precede
    /// it.
    let head: [UInt8]
    private let tail: [UInt8]
    /// The offset of the tail; the end of the head if there is no tail.
    private let tailStart: Int

    /// - Parameters:
    ///   - bytes: The bytes that were read.
    ///   - gap: The part of the file that is missing from `bytes`; nil if they are the whole file or its beginning.
    /// - Returns: Nil if the file is not a PDF.
    init?(_ bytes: [UInt8], gap: Range<Int>?) {
        guard let mark = bytes.prefix(1024).firstIndex(of: Array("%PDF-".utf8)) else { return nil }
        guard let gap, !gap.isEmpty else {
            head = Array(bytes[mark...])
            (tail, tailStart) = ([], head.count)
            return
        }
        let cut = max(mark, min(gap.lowerBound, bytes.count))
        head = Array(bytes[mark..<cut])
        tail = Array(bytes[cut...])
        tailStart = max(cut, min(gap.upperBound, Int.max - bytes.count)) - mark
    }

    /// The bytes in which the file ends, as far as it was read.
    var end: [UInt8] { tail.isEmpty ? head : tail }

    /// The length of the file, as far as it was read.
    var count: Int { tailStart + tail.count }

    /// Returns a lexer that begins at an offset in the file; nil if the byte at that offset was not read.
    func lexer(at offset: Int) -> PDFLexer? {
        if head.indices.contains(offset) { return PDFLexer(head, at: offset) }
        guard offset >= tailStart, offset - tailStart < tail.count else { return nil }
        return PDFLexer(tail, at: offset - tailStart)
    }
}
