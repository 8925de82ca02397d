import Jobs
import Web

/// The output writes its own JSON: `unfurl` can resolve thousands of links a second, and the general encoder took a
/// twentieth of a job's time.
extension Unfurl.Output: JSONWritten {
    /// The output as JSON, with names in alphabetical order, as the general encoder writes them.
    public var json: JSONText {
        JSONWriter.text { writer in
            writer.object {
                $0.field("canonical_url", canonicalURL)
                $0.field("cleaned_url", cleanedURL)
                $0.field("content_type", contentType)
                $0.field("downgraded", isDowngraded)
                $0.field("final_url", finalURL)
                $0.field("hops", hops) { hop, writer in writer.object { hop.writeFields(to: &$0) } }
                $0.field("status", Int64(status))
                $0.field("title", title)
            }
        }
    }
}

extension Hop {
    fileprivate func writeFields(to writer: inout JSONWriter) {
        writer.field("address", address)
        writer.field("duration_ms", durationMs)
        writer.field("http_version", version)
        writer.field("method", method)
        writer.field("status", status.map(Int64.init))
        writer.field("url", url)
        writer.field("via", via?.rawValue)
    }
}
