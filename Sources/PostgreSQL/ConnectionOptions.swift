import Glibc

/// The properties of a connection that its URL does not say.
public struct ConnectionOptions: Sendable {
    /// The name that `pg_stat_activity` shows.
    public var applicationName = "halyard"
    /// How long to wait for the connection to each host. Rounded to whole seconds, and at least two. Default: 10 seconds.
    public var connectTimeout = Duration.seconds(10)
    /// How long to wait for the answer to a statement before the connection counts as lost. Default: 60 seconds.
    public var answerTimeout = Duration.seconds(60)
    /// The path of a file that contains the password and nothing else; nil for none. The password of a URL wins.
    public var passwordFile: String?

    /// Creates the default options.
    public init() {}

    /// Reads the password.
    ///
    /// - Returns: Nil if there is no file for it, or if its first line is empty.
    /// - Throws: ``PostgresError`` if the file cannot be read. The message does not contain the password.
    func readPassword() throws(PostgresError) -> String? {
        guard let passwordFile else { return nil }
        let file = open(passwordFile, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard file >= 0 else { throw unreadable(passwordFile, errno) }
        defer { close(file) }
        // Longer passwords are refused by the server.
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        guard count >= 0 else { throw unreadable(passwordFile, errno) }
        let line = bytes[..<count].prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    private func unreadable(_ path: String, _ code: Int32) -> PostgresError {
        PostgresError(
            .unreachable,
            message: "The file \(path) with the password cannot be read: \(String(cString: strerror(code))).")
    }

    /// The parameters for libpq. Those of the URL come after the defaults, so that they win.
    func parameters(url: String, password: String?) -> [(name: String, value: String)] {
        [
            ("application_name", applicationName),
            ("connect_timeout", "\(max(2, connectTimeout.components.seconds))"),
            // A peer that is gone without a word is noticed within about 20 seconds, not after the kernel's two hours.
            ("keepalives_idle", "10"), ("keepalives_interval", "3"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "20000"),
        ]
            + (password.map { [("password", $0)] } ?? [])
            + [
                ("dbname", url),
                // The store's texts are UTF-8.
                ("client_encoding", "UTF8"),
            ]
    }
}
