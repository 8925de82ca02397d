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
        var first: [(number: Int, entry: Entry)] = []
        var last: [(number: Int, entry: Entry)] = []
        var count = 0

        mutating func append(_ entry: Entry) {
            count += 1
            if count <= ConnectionLog.firstKept { return first.append((count, entry)) }
            last.append((count, entry))
            if last.count > ConnectionLog.lastKept { last.removeFirst() }
        }

        var kept: [(number: Int, entry: Entry)] { first + last }
    }

    public let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    /// - Parameter now: The wall clock.
    public init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// - Parameter startedAt: When the request began; default: now.
    public func begin(
        method: String, origin: String, address: String, proxy: String? = nil, startedAt: Timestamp? = nil
    ) -> Entry {
        let entry = Entry(
            ConnectionRecord(
                method: method, origin: origin, address: address, proxy: proxy, startedAt: startedAt ?? now()))
        state.withLock { $0.append(entry) }
        return entry
    }

    /// Takes over what another log has, when work was done for several attempts at once.
    public func add(_ other: ConnectionLog) {
        let others = other.state.withLock(\.self)
        state.withLock { state in
            let start = state.count
            for (number, entry) in others.kept {
                // What the other one left out is left out here.
                state.count = start + number - 1
                state.append(entry)
            }
        }
    }

    /// As they stand now; empty when there was none.
    public var records: [ConnectionRecord] {
        state.withLock(\.kept).map { number, entry in
            var record = entry.record
            record.number = number
            return record
        }
    }

    /// The records as a JSON array; nil when there is none.
    public var json: JSONText? {
        if state.withLock(\.first.isEmpty) { return nil }
        return JSONWriter.text { $0.array(records) { record, writer in record.write(to: &writer) } }
    }
}
