import Glibc
import Logging

/// Where log messages go, as determined from standard error.
public enum LogDestination: Sendable, Hashable {
    /// Standard error is connected to the journal: write native entries with fields.
    case journal
    /// The service manager reads standard error, but it is not connected to the journal: write lines with
    /// `<N>`.
    case levelPrefix
    /// Standard error is a terminal, a pipe or a file: write lines with the time.
    case dated

    /// Determines the destination from the environment and the open file `descriptor`.
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

    /// Returns a handler for this destination. Only ``journal`` uses `identifier` and `messageIDs`.
    public func handler(
        label: String, threshold: LogThreshold, identifier: String, messageIDs: [String: String]
    ) -> any LogHandler {
        ServiceLogHandler(
            threshold: threshold, style: self == .dated ? .dated : .levelPrefix,
            journal: self == .journal
                ? .init(label: label, identifier: identifier, messageIDs: messageIDs) : nil)
    }
}
