import CSystemd
import Glibc
import Logging

/// One entry of the journal, with its fields in the order in which they are sent. Control characters are
/// escaped as `\x1b` and so on, so that they never reach a reader of the journal, syslog or a terminal.
struct JournalEntry {
    private(set) var fields: [(name: String, value: String)] = []

    /// - Parameter messageIDs: The `MESSAGE_ID` for each value of the metadata key `HALYARD_EVENT`.
    init(
        level: Logger.Level, message: String, metadata: Logger.Metadata, label: String, identifier: String,
        messageIDs: [String: String]
    ) {
        fields = [
            ("MESSAGE", message.printable()), ("PRIORITY", String(level.priority)), ("SYSLOG_IDENTIFIER", identifier),
            ("LOGGER", label),
        ]
        if let event = metadata["HALYARD_EVENT"], let id = messageIDs[event.description] {
            fields.append(("MESSAGE_ID", id))
        }
        // Send each value of an array as a separate field, so that a search for any of several jobs finds the
        // entry.
        let named = metadata.map { (name: JournalEntry.fieldName($0), value: $1) }
        for (name, value) in named.sorted(by: { $0.name < $1.name }) {
            let values = if case .array(let values) = value { values } else { [value] }
            fields += values.map { (name, $0.description.printable()) }
        }
    }

    /// Returns the field's name for a metadata key: `HALYARD_JOB` for both `HALYARD_JOB` and `job`. The journal
    /// accepts only capital letters, digits and underscores, and at most 64 of them.
    static func fieldName(_ key: String) -> String {
        let name = key.utf8.map { byte -> Character in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): Character(Unicode.Scalar(byte - 32))
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                Character(Unicode.Scalar(byte))
            default: "_"
            }
        }
        let text = String(name)
        return String((text.hasPrefix("HALYARD_") ? text : "HALYARD_" + text).prefix(64))
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

extension Logger.Level {
    /// The level's number in `syslog(3)`.
    var priority: Int {
        switch self {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}
