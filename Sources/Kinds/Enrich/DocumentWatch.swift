/// Looks at a document while it arrives, and tells when enough of it is there.
///
/// It finds no facts: it counts bytes, knows how pictures begin, and sees where a page's head ends.
struct DocumentWatch {
    enum Sight: Sendable {
        case more
        /// Of a picture, or of something that is told by its first bytes.
        case enough
        /// The first time only.
        case headIsComplete
    }

    /// Of a picture; format and size stand near its beginning.
    static let fileBytes = 64 << 10

    private enum Sort { case page, file, whole }

    private let contentType: String?
    private var sort: Sort?
    private var head = HeadScanner()
    private var hasSeenHead = false

    init(contentType: String?) { self.contentType = contentType }

    /// Whether it is a document that is wanted to its end: a PDF.
    var isWhole: Bool { sort == .whole }

    /// - Parameter bytes: All that has come so far.
    mutating func look(at bytes: [UInt8]) -> Sight {
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

    /// Whether a document that broke off says what it has to say: a page whose head is there, a file that is told by its
    /// beginning, a PDF that came to its end.
    mutating func suffices(_ bytes: [UInt8]) -> Bool {
        switch sort ?? Self.sort(of: bytes, contentType) {
        case .page: hasSeenHead || head.advance(to: bytes)
        case .file: true
        case .whole: bytes.suffix(1024).firstPlace(of: Array("%%EOF".utf8)) != nil
        }
    }

    private static func sort(of bytes: [UInt8], _ contentType: String?) -> Sort {
        // A PDF keeps its facts anywhere, and at its end before all.
        if bytes.prefix(1024).firstRange(of: Array("%PDF-".utf8)) != nil { return .whole }
        // What calls itself a page may be a picture; pictures are told by bytes that no page has.
        if MediaFacts.hasSignature(bytes) { return .file }
        return PageHead.isPage(contentType) ? .page : .file
    }
}
