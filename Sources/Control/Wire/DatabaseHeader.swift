import Jobs

/// The header in every answer on the control socket that names the database's file. A caller that follows a job can
/// read the job's result there after the daemon has exited.
public enum DatabaseHeader {
    public static let name = "Halyard-Database"

    /// Returns the header's value, a JSON string, so that every path fits on one line.
    public static func value(of path: String) -> String { JSONText(string: path).string }

    /// Returns the path, or nil if the value is not valid.
    public static func path(in value: String) -> String? {
        // Another release may write the value differently. Then only the daemon can report results.
        (try? JSONText(checking: Array(value.utf8)))?.decodedString
    }
}
