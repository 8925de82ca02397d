import Jobs

/// Everything an administrator sets for `upload`, `unfurl` and `enrich`.
public struct KindsConfiguration: Sendable {
    public var outgoing = OutgoingConfiguration()
    public var upload = UploadConfiguration()
    public var unfurl = UnfurlConfiguration()
    public var enrich = EnrichConfiguration()
    /// Where pages, pictures and PDF are read. In this process unless set; a daemon uses sandboxes.
    public var documents: DocumentReader.Place = .here

    public init() {}
}

/// How the one outgoing client behaves, whoever uses it.
public struct OutgoingConfiguration: Sendable {
    /// Which addresses and ports may be reached. Public addresses at the usual ports unless set.
    public var policy = AddressPolicy()
    public var limits = OutgoingLimits()
    /// How gently each host is treated.
    public var host = HostLimits()
    /// What every connection goes through. None unless set; no variable of the environment counts.
    public var proxy: ProxyServer?
    /// Gives the proxy's `USER:PASSWORD`; nil for none.
    public var proxySecret: @Sendable () throws(KindFailure) -> String? = { () throws(KindFailure) in nil }
    /// A file of certificates (PEM) to trust besides the system's, for servers with an authority of one's own.
    public var certificateFile: String?
    /// The version in the user agent `Halyard/VERSION`.
    public var version = "0.1.0"
    /// Added to the user agent, for example `(+https://example.org/robots)`. Empty unless set.
    public var userAgentSuffix = ""
    /// Connections kept apart by scheme, host, port and address. 64 unless set.
    public var maxPooledServers = 64

    public init() {}

    var userAgent: String {
        let suffix = userAgentSuffix.filter { $0.isASCII && !$0.isNewline && $0 != "\0" }
        return "Halyard/\(version)" + (suffix.isEmpty ? "" : " \(suffix)")
    }
}

/// The three kinds, sharing one client. The caller shuts the client down when no kind runs any more.
public func builtInKinds(_ configuration: KindsConfiguration, client: OutgoingClient) -> [any Kind] {
    let documents = DocumentReader(configuration.documents)
    return [
        Upload(client: client, configuration: configuration.upload),
        Unfurl(client: client, configuration: configuration.unfurl, documents: documents),
        Enrich(client: client, configuration: configuration.enrich, documents: documents),
    ]
}
