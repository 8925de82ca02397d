import CSystemd
import Glibc
import Logging

/// Writes to the journal, each metadata key as a field: `journalctl HALYARD_JOB=42` tells the story of a job.
public struct JournalLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    private let label: String
    private let identifier: String
    private let messageIDs: [String: String]

    /// - Parameter messageIDs: From the value of the metadata key `HALYARD_EVENT` to a `MESSAGE_ID` of 32 hexadecimal digits.
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
        // Its socket does not answer, but its stream may.
        var line = LineLogHandler(threshold: threshold, style: .levelPrefix)
        line.metadata = metadata
        line.metadataProvider = metadataProvider
        line.log(event: event)
    }
}

extension JournalEntry {
    /// Returns whether the journal has taken it.
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
