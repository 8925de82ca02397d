/// A question about a document, which can be sent to a sandbox or answered in this process.
protocol DocumentTask: Codable, Sendable {
    associatedtype Answer: Codable & Sendable

    /// The name by which the sandbox recognizes the task.
    static var name: String { get }

    func read(_ bytes: [UInt8]) -> Answer
}

/// Extracts the metadata of a page, a picture or a PDF.
struct DescribeTask: DocumentTask {
    static let name = "describe"
    var url: String
    var contentType: String?
    /// The part of the document that is missing in the bytes, if they are the two ends of a long PDF.
    var gap: Range<Int>?

    func read(_ bytes: [UInt8]) -> Enrich.Output {
        // Parsing does not fail, since the caller made this text from a parsed URL.
        guard let address = try? WebURL(parsing: url) else { return Enrich.Output(url: url, contentType: contentType) }
        return Enrich.describe(bytes, url: address, contentType: contentType, gap: gap)
    }
}

/// Extracts from a page's head the facts that `unfurl` needs.
struct HeadTask: DocumentTask {
    static let name = "head"
    var contentType: String?

    func read(_ bytes: [UInt8]) -> PageHead { PageHead(bytes, contentType: contentType) }
}

/// Finds the format and size of a picture from its first bytes.
struct MeasureTask: DocumentTask {
    static let name = "measure"

    struct Answer: Codable, Sendable { var facts: MediaFacts? }

    func read(_ bytes: [UInt8]) -> Answer { Answer(facts: MediaFacts(bytes)) }
}
