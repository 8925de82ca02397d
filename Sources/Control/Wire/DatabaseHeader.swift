import Jobs

/// The header of every answer on the control socket that names the database's file, so that who follows a job can read
/// there what became of it when the daemon has gone.
public enum DatabaseHeader {
    public static let name = "Halyard-Database"

    /// A JSON string, so that every path is one line.
    public static func value(of path: String) -> String { JSONText(string: path).string }

    /// The path; nil for what is no such value.
    public static func path(in value: String) -> String? {
        // What another release writes otherwise is as good as nothing: only the daemon tells then.
        (try? JSONText(checking: Array(value.utf8)))?.decodedString
    }
}
