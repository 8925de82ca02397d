/// Watches a document while it arrives, and reports when enough of it has been received.
///
/// It does not extract metadata. It only counts bytes, recognizes how files begin, and finds the end of a page's head.
package struct DocumentWatch {
    package enum Sight: Sendable {
        /// More bytes are needed.
        case more
        /// The beginning of a picture or other file is complete; the rest is not needed.
        case enough
        /// The page's head is complete. Reported only once.
        case headIsComplete
    }

    /// The number of bytes to read of a picture, whose format and size are near its beginning.
    package static let fileBytes = 64 << 10

    private enum Sort { case page, file, whole }

    private let contentType: String?
    private var sort: Sort?
    private var head = HeadScanner()
    private var hasSeenHead = false

    package init(contentType: String?) { self.contentType = contentType }

    /// Whether the document is needed up to its end, as a PDF is.
    package var isWhole: Bool { sort == .whole }

    /// Looks at the bytes that arrived since the last call.
    ///
    /// - Parameter bytes: All bytes received so far.
    package mutating func look(at bytes: [UInt8]) -> Sight {
        if sort == nil, bytes.count >= 512 { sort = Self.sort(of: bytes, contentType) }
        switch sort {
        case nil, .whole: return .more
        case .file: return bytes.count >= Self.fileBytes ? .enough : .more
        case .page:
            guard !hasSeenHead, head.advance(to: bytes) else { return .more }
            hasSeenHead = true
            return .headIsComplete
        }
    }

    /// Whether the received part of an interrupted document contains its metadata: a page whose head is complete, a
    /// file whose beginning is enough, or a PDF that includes its end.
    package func suffices(_ bytes: [UInt8]) -> Bool {
        switch sort ?? Self.sort(of: bytes, contentType) {
        case .page: hasSeenHead || HeadScanner.findsEnd(in: bytes)
        case .file: true
        case .whole: bytes.suffix(1024).firstIndex(of: Array("%%EOF".utf8)) != nil
        }
    }

    private static func sort(of bytes: [UInt8], _ contentType: String?) -> Sort {
        // A PDF's metadata may be anywhere in the file, most often at its end.
        if bytes.prefix(1024).firstRange(of: Array("%PDF-".utf8)) != nil { return .whole }
        // A server may send a picture with the media type of a page. Pictures begin with bytes that no page begins
        // with.
        if MediaFacts.hasSignature(bytes) { return .file }
        return PageHead.isPage(contentType) ? .page : .file
    }
}
