import Glibc
import Logging

/// Where log messages go, found out from standard error.
public enum LogDestination: Sendable, Hashable {
    /// Standard error is the journal: native entries with fields.
    case journal
    /// A manager reads standard error, and it is not the journal: lines with `<N>`.
    case levelPrefix
    /// A person, a pipe or a file.
    case dated

    public init(_ environment: ServiceEnvironment, descriptor: Int32 = STDERR_FILENO) {
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        if isKnown, environment.journalStream == "\(status.st_dev):\(status.st_ino)" {
            self = .journal
        } else if environment.invocationID != nil, isatty(descriptor) == 0 {
            self = .levelPrefix
        } else {
            self = .dated
        }
    }

    public func handler(
        label: String, threshold: LogThreshold, identifier: String, messageIDs: [String: String]
    ) -> any LogHandler {
        switch self {
        case .journal:
            JournalLogHandler(label: label, threshold: threshold, identifier: identifier, messageIDs: messageIDs)
        case .levelPrefix: LineLogHandler(threshold: threshold, style: .levelPrefix)
        case .dated: LineLogHandler(threshold: threshold, style: .dated)
        }
    }
}
