import Glibc
import Logging

/// Writes each message to the journal, or as one line, by default to standard error.
///
/// In the journal, each metadata key is a field, so that `journalctl HALYARD_JOB=42` shows all messages about a job. A
/// message that the journal does not accept is written as a line. A message with the key `HALYARD_STREAM` is output of
/// another program; as a line, it has no metadata, which could be mistaken for output.
public struct ServiceLogHandler: LogHandler {
    /// The form of a line.
    public enum Style: Sendable, Hashable {
        /// For people, with the time: `2026-02-03T04:05:06.789Z info  finished job=4 outcome=succeeded`
        case dated
        /// For systemd, with the level: `<6>finished job=4 outcome=succeeded`; see `sd-daemon(3)`.
        case levelPrefix
    }

    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    private let style: Style
    private let journal: Journal?
    private let write: @Sendable (String) -> Void

    /// The fields that every entry of the journal has.
    struct Journal {
        /// The logger's label, which becomes the field `LOGGER`.
        let label: String
        /// The value of `SYSLOG_IDENTIFIER`.
        let identifier: String
        /// The `MESSAGE_ID`, of 32 hexadecimal digits, for each value of the metadata key `HALYARD_EVENT`.
        let messageIDs: [String: String]
    }

    /// Creates a handler that writes lines.
    ///
    /// - Parameters:
    ///   - threshold: The level to use until a logger sets its own.
    ///   - write: Writes a line that ends with a line feed. Any thread may call it.
    public init(
        threshold: LogThreshold, style: Style,
        write: @escaping @Sendable (String) -> Void = ServiceLogHandler.toStandardError
    ) {
        self.init(threshold: threshold, style: style, journal: nil, write: write)
    }

    init(
        threshold: LogThreshold, style: Style, journal: Journal?,
        write: @escaping @Sendable (String) -> Void = ServiceLogHandler.toStandardError
    ) {
        self.threshold = threshold
        self.style = style
        self.journal = journal
        self.write = write
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
        let metadata = event.metadata(over: metadata, from: metadataProvider)
        if let journal {
            let entry = JournalEntry(
                level: event.level, message: event.text, metadata: metadata, label: journal.label,
                identifier: journal.identifier, messageIDs: journal.messageIDs)
            // The stream on standard error may accept a message that the journal's socket does not.
            if entry.send() { return }
        }
        var line =
            switch style {
            case .dated: "\(Self.now()) \(event.level.padded) "
            case .levelPrefix: "<\(event.level.priority)>"
            }
        line += event.text.singleLine
        // The message ends with a line that another program wrote, so metadata after it could be mistaken for output.
        if metadata["HALYARD_STREAM"] != nil { return write(line + "\n") }
        for (key, value) in metadata.sorted(by: { $0.key < $1.key })
        where key != "HALYARD_EVENT" && key != "HALYARD_ERROR" {
            // The message already names these values.
            if case .array = value { continue }
            let key = key.hasPrefix("HALYARD_") ? key.dropFirst(8).lowercased() : key
            let text = value.description.singleLine
            line += text.utf8.contains(UInt8(ascii: " ")) || text.isEmpty ? " \(key)=\"\(text)\"" : " \(key)=\(text)"
        }
        write(line + "\n")
    }

    /// Writes a line with a single `write`, so that the lines of several threads do not mix. A line that cannot
    /// be written is lost.
    public static func toStandardError(_ line: String) {
        var line = line
        line.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let written = Glibc.write(STDERR_FILENO, rest.baseAddress, rest.count)
                if written < 0 && errno == EINTR { continue }
                // Nobody reads standard error. Drop the line, since a lost log line must not end the daemon.
                guard written > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }

    private static func now() -> String {
        var moment = timespec()
        clock_gettime(CLOCK_REALTIME, &moment)
        var parts = tm()
        gmtime_r(&moment.tv_sec, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
        let seconds = String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let milliseconds = String(1000 + moment.tv_nsec / 1_000_000).dropFirst()
        return "\(seconds).\(milliseconds)Z"
    }
}

extension Logger.Level {
    fileprivate var padded: String { rawValue + String(repeating: " ", count: max(0, 7 - rawValue.count)) }
}

extension LogEvent {
    /// The message, followed by its error if it has one.
    var text: String { error.map { "\(message): \($0)" } ?? "\(message)" }

    func metadata(over base: Logger.Metadata, from provider: Logger.MetadataProvider?) -> Logger.Metadata {
        var all = base
        if let provider { all.merge(provider.get()) { _, new in new } }
        if let metadata { all.merge(metadata) { _, new in new } }
        return all
    }
}
