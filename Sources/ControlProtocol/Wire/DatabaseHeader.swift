import Jobs

/// The header with which every response on the control socket names the database's file. A caller that waits
/// for a job can read the job's result from that file after the daemon has exited.
public enum DatabaseHeader {
    /// The header's name.
    public static let name = "Halyard-Database"

    /// Returns the header's value: the path as a JSON string, so that every path fits on one line.
    public static func value(of path: String) -> String { JSONText(string: path).string }

    /// Returns the path from the header's value; nil if the value is not valid.
    public static func path(in value: String) -> String? {
        // Another release may write the value differently. Then only the daemon can return results.
        (try? JSONText(checking: Array(value.utf8)))?.decodedString
    }
}
