/// Something to find out about a document, here or in a sandbox.
protocol DocumentTask: Codable, Sendable {
    associatedtype Answer: Codable & Sendable

    /// How the sandbox tells the tasks apart.
    static var name: String { get }

    func read(_ bytes: [UInt8]) -> Answer
}

/// What a page, a picture or a PDF says about itself.
struct DescribeTask: DocumentTask {
    static let name = "describe"
    var url: String
    var contentType: String?

    func read(_ bytes: [UInt8]) -> Enrich.Output {
        // The caller has parsed this address before.
        guard let address = try? WebURL(parsing: url) else { return Enrich.Output(url: url, contentType: contentType) }
        return Enrich.describe(bytes, url: address, contentType: contentType)
    }
}

/// What `unfurl` wants to know of a page.
struct HeadTask: DocumentTask {
    static let name = "head"
    var contentType: String?

    func read(_ bytes: [UInt8]) -> PageHead { PageHead(bytes, contentType: contentType) }
}

/// Format and size of a picture, as far as its first bytes tell.
struct MeasureTask: DocumentTask {
    static let name = "measure"

    struct Answer: Codable, Sendable { var facts: MediaFacts? }

    func read(_ bytes: [UInt8]) -> Answer { Answer(facts: MediaFacts(bytes)) }
}
