/// The properties of a connection that its URL does not say.
public struct ConnectionOptions: Sendable {
    /// The name that `pg_stat_activity` shows.
    public var applicationName = "halyard"
    /// How long to wait for the connection. Default: 10 seconds.
    public var connectTimeout = Duration.seconds(10)
    /// How long to wait for the answer to a statement before the connection counts as lost. Default: 60 seconds.
    public var answerTimeout = Duration.seconds(60)

    /// Creates the default options.
    public init() {}

    /// The parameters for libpq. Those of the URL come after the defaults, so that they win.
    func parameters(url: String) -> [(name: String, value: String)] {
        [
            ("application_name", applicationName),
            // A peer that is gone without a word is noticed within about 20 seconds, not after the kernel's two hours.
            ("keepalives_idle", "10"), ("keepalives_interval", "3"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "20000"),
            ("dbname", url),
            // The store's texts are UTF-8.
            ("client_encoding", "UTF8"),
        ]
    }
}
