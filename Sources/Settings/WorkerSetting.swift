/// A setting that the daemon passes to the worker of the built-in kinds, which alone knows what it means.
package struct WorkerSetting: Hashable, Sendable {
    /// The key with its groups, such as `upload.roots`.
    package var key: String
    /// Whether the value is a list of texts instead of one text.
    package var isList: Bool

    private init(_ key: String, isList: Bool = false) {
        self.key = key
        self.isList = isList
    }

    /// All settings of the built-in kinds, in the order of `config/halyard.yaml`.
    package static let all = [
        WorkerSetting("upload.roots", isList: true), WorkerSetting("upload.credentials"),
        WorkerSetting("upload.credential_origins", isList: true), WorkerSetting("upload.max_size"),
        WorkerSetting("upload.checkpoints"), WorkerSetting("upload.chunk_size"), WorkerSetting("upload.part_size"),
        WorkerSetting("upload.memory"), WorkerSetting("upload.max_rate"),

        WorkerSetting("spool.directory"), WorkerSetting("files.directory"),

        WorkerSetting("network.ports", isList: true), WorkerSetting("network.allow", isList: true),
        WorkerSetting("network.user_agent_suffix"), WorkerSetting("network.proxy"),
        WorkerSetting("network.proxy_credential"), WorkerSetting("network.connect_timeout"),
        WorkerSetting("network.idle_timeout"), WorkerSetting("network.authorities"),
        WorkerSetting("network.retry_after_limit"), WorkerSetting("network.host_requests"),
        WorkerSetting("network.host_interval"), WorkerSetting("network.host_failures"),
        WorkerSetting("network.host_rest"),

        WorkerSetting("unfurl.max_redirects"), WorkerSetting("unfurl.timeout"), WorkerSetting("unfurl.hop_timeout"),
        WorkerSetting("unfurl.keeps"), WorkerSetting("unfurl.tracking_parameters", isList: true),
        WorkerSetting("unfurl.tracking_list"), WorkerSetting("unfurl.wrappers", isList: true),

        WorkerSetting("enrich.max_redirects"), WorkerSetting("enrich.timeout"), WorkerSetting("enrich.max_size"),
    ]
}
