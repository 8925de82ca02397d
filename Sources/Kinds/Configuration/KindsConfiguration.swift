import Jobs
import Web

/// The administrator's settings for `upload`, `unfurl` and `enrich`.
public struct KindsConfiguration: Sendable {
    public var outgoing = OutgoingConfiguration()
    public var upload = UploadConfiguration()
    public var unfurl = UnfurlConfiguration()
    public var enrich = EnrichConfiguration()
    /// Where documents from servers are parsed. Default: in this process. The daemon parses them in sandboxes.
    public var documents: DocumentReader.Location = .here

    public init() {}
}

/// Returns the three built-in kinds, which share `client`. The caller must shut the client down after the last run.
public func builtInKinds(_ configuration: KindsConfiguration, client: OutgoingClient) -> [any Kind] {
    let documents = DocumentReader(configuration.documents)
    return [
        Upload(client: client, configuration: configuration.upload),
        Unfurl(client: client, configuration: configuration.unfurl, documents: documents),
        Enrich(client: client, configuration: configuration.enrich, documents: documents),
    ]
}
