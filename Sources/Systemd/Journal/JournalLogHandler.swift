import CSystemd
import Glibc
import Logging

/// Writes to the journal, with a field for each metadata key, so that `journalctl HALYARD_JOB=42` shows all
/// messages about a job. If the journal does not accept a message, the handler writes it as a line to standard
/// error.
public struct JournalLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    private let label: String
    private let identifier: String
    private let messageIDs: [String: String]

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - label: The logger's label, which becomes the field `LOGGER`.
    ///   - threshold: The level to use until a logger sets its own.
    ///   - identifier: The value of `SYSLOG_IDENTIFIER`.
    ///   - messageIDs: The `MESSAGE_ID`, of 32 hexadecimal digits, for each value of the metadata key
    ///     `HALYARD_EVENT`.
    public init(label: String, threshold: LogThreshold, identifier: String, messageIDs: [String: String]) {
        self.label = label
        self.threshold = threshold
        self.identifier = identifier
        self.messageIDs = messageIDs
    }

    public var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let entry = JournalEntry(
            level: event.level, message: event.text, metadata: event.metadata(over: metadata, from: metadataProvider),
            label: label, identifier: identifier, messageIDs: messageIDs)
        if entry.send() { return }
        // The journal's socket does not accept the entry, but the stream on standard error may.
        var line = LineLogHandler(threshold: threshold, style: .levelPrefix)
        line.metadata = metadata
        line.metadataProvider = metadataProvider
        line.log(event: event)
    }
}

extension JournalEntry {
    /// Sends the entry. Returns whether the journal accepted it.
    func send() -> Bool {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for (name, value) in fields {
            bytes += "\(name)=\(value)".utf8
            ends.append(bytes.count)
        }
        return bytes.withUnsafeMutableBytes { memory in
            var start = 0
            let vectors = ends.map { end in
                defer { start = end }
                return iovec(iov_base: memory.baseAddress! + start, iov_len: end - start)
            }
            return sd_journal_sendv(vectors, Int32(vectors.count)) >= 0
        }
    }
}
