import Synchronization

/// Records the requests that one attempt sends, so that people can see later which servers it connected to.
///
/// The first ``firstKept`` and the last ``lastKept`` requests are kept. Code that sends a request finds the log of its
/// attempt in ``current``, even in tasks that the operation starts, so a kind does not have to pass it on.
public final class ConnectionLog: Sendable {
    /// The log of the current task's attempt; nil outside of an attempt.
    @TaskLocal public static var current: ConnectionLog?

    /// The number of first requests that are kept.
    public static let firstKept = 16
    /// The number of last requests that are kept.
    public static let lastKept = 48

    /// One request, which is updated while it runs.
    public final class Entry: Sendable {
        private let state: Mutex<ConnectionRecord>

        fileprivate init(_ record: ConnectionRecord) { state = Mutex(record) }

        /// Changes the record. Other tasks see either all or nothing of the change.
        public func update(_ change: (inout ConnectionRecord) -> Void) { state.withLock { change(&$0) } }

        /// The current state of the record.
        public var record: ConnectionRecord { state.withLock(\.self) }
    }

    private struct State {
        var first: [(number: Int, entry: Entry)] = []
        var last: [(number: Int, entry: Entry)] = []
        var count = 0
        /// The records that another process sent; nil if this process sends the requests.
        var received: JSONText?

        mutating func append(_ entry: Entry) {
            count += 1
            if count <= ConnectionLog.firstKept { return first.append((count, entry)) }
            last.append((count, entry))
            if last.count > ConnectionLog.lastKept { last.removeFirst() }
        }

        var kept: [(number: Int, entry: Entry)] { first + last }
    }

    /// The clock for the start of requests.
    public let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    /// Creates an empty log.
    ///
    /// - Parameter now: The wall clock.
    public init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// Adds a request to the log.
    ///
    /// - Parameters:
    ///   - method: The HTTP method.
    ///   - origin: ``ConnectionRecord/origin``.
    ///   - address: ``ConnectionRecord/address``.
    ///   - proxy: ``ConnectionRecord/proxy``.
    ///   - startedAt: When the request began. Default: now.
    /// - Returns: The entry, to be updated while the request runs.
    public func begin(
        method: String, origin: String, address: String, proxy: String? = nil, startedAt: Timestamp? = nil
    ) -> Entry {
        let entry = Entry(
            ConnectionRecord(
                method: method, origin: origin, address: address, proxy: proxy, startedAt: startedAt ?? now()))
        state.withLock { $0.append(entry) }
        return entry
    }

    /// Adds the entries of another log, for work that was done for several attempts at once.
    public func add(_ other: ConnectionLog) {
        let others = other.state.withLock(\.self)
        state.withLock { state in
            let start = state.count
            for (number, entry) in others.kept {
                // Requests that the other log dropped keep their numbers here, so they count as dropped.
                state.count = start + number - 1
                state.append(entry)
            }
        }
    }

    /// The current state of the kept requests, in the order in which they began.
    public var records: [ConnectionRecord] {
        state.withLock(\.kept).map { number, entry in
            var record = entry.record
            record.number = number
            return record
        }
    }

    /// The maximum size of records from another process: 64 KiB. Larger ones are dropped.
    public static let maxReceivedBytes = 64 << 10

    /// Replaces the records by those that another process sent, a JSON array.
    public func replace(with records: JSONText) {
        guard records.bytes.count <= Self.maxReceivedBytes else { return }
        state.withLock { $0.received = records }
    }

    /// The records as a JSON array; nil if there are none.
    public var json: JSONText? {
        if let received = state.withLock(\.received) { return received }
        if state.withLock(\.first.isEmpty) { return nil }
        return JSONWriter.text { $0.array(records) { record, writer in record.write(to: &writer) } }
    }
}
