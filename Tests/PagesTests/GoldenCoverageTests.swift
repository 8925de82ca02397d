import Foundation
import Samples
import Testing

/// Every source of every field is the result of some golden document. `SourceTests` covers the publishers' different
/// names for the same source.
@Suite struct GoldenCoverageTests {
    private static let sources: [String: Set<String>] = [
        "audio": [
            "audio element", "json-ld associatedMedia", "json-ld audio", "og:audio",
        ],
        "author": [
            "article:author", "author", "author link", "byline", "citation_author", "dc.creator",
            "file", "json-ld author", "json-ld creator", "json-ld publisher", "microdata author",
            "text by",
        ],
        "canonical_url": [
            "link canonical", "og:url",
        ],
        "description": [
            "citation_abstract", "dc.description", "dcterms.abstract", "description", "json-ld description",
            "microdata description", "og:description", "p", "twitter:description",
        ],
        "height": [
            "file"
        ],
        "icon": [
            "link apple-touch-icon", "link icon",
        ],
        "image": [
            "file", "json-ld image", "link image_src", "microdata image", "og:image",
            "twitter:image",
        ],
        "language": [
            "content-language", "html lang", "json-ld inLanguage", "og:locale",
        ],
        "license": [
            "dcterms.license", "json-ld license", "link license",
        ],
        "modified": [
            "article:modified_time", "dcterms.modified", "json-ld dateModified", "microdata dateModified",
            "og:updated_time", "time updated",
        ],
        "pages": [
            "file"
        ],
        "paywalled": [
            "article:content_tier", "json-ld isAccessibleForFree",
        ],
        "published": [
            "article:published_time", "citation_publication_date", "dc.date.issued", "json-ld datePublished",
            "json-ld uploadDate", "microdata datePublished", "modified", "text",
            "text date", "text published", "time", "time published", "url",
        ],
        "section": [
            "article:section", "json-ld articleSection",
        ],
        "site_name": [
            "application-name", "json-ld WebSite", "json-ld publisher", "microdata publisher",
            "og:site_name", "publisher", "title",
        ],
        "tags": [
            "article:tag", "json-ld keywords", "keywords", "rel tag",
        ],
        "theme_color": [
            "theme-color"
        ],
        "title": [
            "citation_title", "dc.title", "file", "h1", "heading", "json-ld headline", "json-ld name",
            "microdata headline", "og:title", "title", "twitter:title",
        ],
        "type": [
            "file", "json-ld @type", "og:type",
        ],
        "video": [
            "json-ld contentUrl", "json-ld video", "og:video", "video element",
        ],
        "width": [
            "file"
        ],
        "word_count": [
            "json-ld wordCount", "paragraphs",
        ],
    ]

    @Test func everySourceOfEveryFieldHasAGoldenDocument() throws {
        var covered: [String: Set<String>] = [:]
        for golden in GoldenDocument.all {
            let object = try JSONSerialization.jsonObject(with: golden.expected) as? [String: Any]
            for (field, source) in object?["sources"] as? [String: String] ?? [:] {
                covered[field, default: []].insert(source)
            }
        }
        // A new source of a document must be added to the table.
        for field in Set(covered.keys).union(Self.sources.keys) {
            #expect(covered[field] == Self.sources[field], "\(field)")
        }
    }

    @Test func everyDocumentedFieldIsInTheTable() {
        let documented = [
            "title", "description", "author", "published", "modified", "language", "site_name", "canonical_url", "type",
            "section", "tags", "image", "video", "audio", "icon", "license", "theme_color", "paywalled", "word_count",
            "width", "height", "pages",
        ]
        #expect(Set(Self.sources.keys) == Set(documented))
    }
}
