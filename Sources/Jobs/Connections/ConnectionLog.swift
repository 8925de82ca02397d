import Synchronization

/// The requests of one attempt, for people who ask later where it went.
///
/// Of any number the first ``firstKept`` and the last ``lastKept`` are kept. What sends requests finds the log of its
/// attempt in ``current``, also in tasks that an operation starts; a kind has nothing to hand on.
public final class ConnectionLog: Sendable {
    /// Nil outside an attempt.
    @TaskLocal public static var current: ConnectionLog?

    public static let firstKept = 16
    public static let lastKept = 48

    /// One request, told about while it runs.
    public final class Entry: Sendable {
        private let state: Mutex<ConnectionRecord>

        fileprivate init(_ record: ConnectionRecord) { state = Mutex(record) }

        public func update(_ change: (inout ConnectionRecord) -> Void) { state.withLock { change(&$0) } }

        public var record: ConnectionRecord { state.withLock(\.self) }
    }

    private struct State {
        var first: [Entry] = []
        var leftOut = 0
        var last: [Entry] = []

        mutating func append(_ entry: Entry) {
            if first.count < ConnectionLog.firstKept, leftOut == 0, last.isEmpty { return first.append(entry) }
            last.append(entry)
            if last.count > ConnectionLog.lastKept {
                last.removeFirst()
                leftOut += 1
            }
        }
    }

    public let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    /// - Parameter now: The wall clock.
    public init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    public func begin(method: String, origin: String, address: String, proxy: String? = nil) -> Entry {
        let entry = Entry(
            ConnectionRecord(method: method, origin: origin, address: address, proxy: proxy, startedAt: now()))
        state.withLock { $0.append(entry) }
        return entry
    }

    /// Takes over what another log has, when work was done for several attempts at once.
    public func add(_ other: ConnectionLog) {
        let others = other.state.withLock(\.self)
        state.withLock { state in
            for entry in others.first { state.append(entry) }
            state.leftOut += others.leftOut
            for entry in others.last { state.append(entry) }
        }
    }

    /// As they stand now; empty when there was none.
    public var records: [ConnectionRecord] {
        let state = state.withLock(\.self)
        return (state.first + state.last).enumerated().map { index, entry in
            var record = entry.record
            record.number = 1 + index + (index < state.first.count ? 0 : state.leftOut)
            return record
        }
    }

    /// The records as a JSON array; nil when there is none.
    public var json: JSONText? {
        if state.withLock(\.first.isEmpty) { return nil }
        var bytes: [UInt8] = []
        for record in records {
            bytes.append(UInt8(ascii: bytes.isEmpty ? "[" : ","))
            record.appendJSON(to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        return JSONText(trusted: bytes)
    }
}
