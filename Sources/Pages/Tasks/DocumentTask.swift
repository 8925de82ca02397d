import WebSyntax

/// A question about a document, which can be sent to a sandbox or answered in this process.
package protocol DocumentTask: Codable, Sendable {
    associatedtype Answer: Codable & Sendable

    /// The name by which the sandbox recognizes the task.
    static var name: String { get }

    func read(_ bytes: [UInt8]) -> Answer
}

/// Extracts the metadata of a page, a picture or a PDF.
package struct DescribeTask: DocumentTask {
    package static let name = "describe"
    var url: String
    var contentType: String?
    /// The part of the document that is missing from the bytes, if they are the two ends of a long PDF.
    var gap: Range<Int>?

    package init(url: String, contentType: String?, gap: Range<Int>? = nil) {
        self.url = url
        self.contentType = contentType
        self.gap = gap
    }

    package func read(_ bytes: [UInt8]) -> DocumentMetadata {
        // Parsing does not fail, since the caller made this text from a parsed URL.
        guard let address = try? WebURL(parsing: url) else {
            return DocumentMetadata(url: url, contentType: contentType)
        }
        return DocumentMetadata(of: bytes, url: address, contentType: contentType, gap: gap)
    }
}

/// Extracts from a page the facts that `unfurl` needs.
package struct HeadTask: DocumentTask {
    package static let name = "head"
    var contentType: String?

    package init(contentType: String?) { self.contentType = contentType }

    package struct Answer: Codable, Sendable {
        package var head: PageHead
        package var signs: PageSigns
    }

    package func read(_ bytes: [UInt8]) -> Answer {
        Answer(head: PageHead(bytes, contentType: contentType), signs: PageSigns(bytes))
    }
}

/// Searches a page for signs of a wall.
package struct SignsTask: DocumentTask {
    package static let name = "signs"

    package init() {}

    package func read(_ bytes: [UInt8]) -> PageSigns { PageSigns(bytes) }
}

/// Finds the format and size of a picture from its first bytes.
package struct MeasureTask: DocumentTask {
    package static let name = "measure"

    package struct Answer: Codable, Sendable { package var facts: MediaFacts? }

    package init() {}

    package func read(_ bytes: [UInt8]) -> Answer { Answer(facts: MediaFacts(bytes)) }
}
