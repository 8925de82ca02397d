import Jobs
import Testing

@Suite struct ConnectionLogTests {
    private let log = ConnectionLog { Timestamp(milliseconds: 1_750_000_000_123) }

    @discardableResult
    private func begin(_ number: Int, in log: ConnectionLog) -> ConnectionLog.Entry {
        log.begin(method: "GET", origin: "http://h\(number)", address: "192.0.2.1:80")
    }

    @Test func withoutARequestThereIsNothing() {
        #expect(log.json == nil)
        #expect(ConnectionRecord.list(in: log.json).isEmpty)
    }

    @Test func ofManyTheFirstAndTheLastAreKeptAndNumbersTellTheRest() {
        for number in 1...1000 { begin(number, in: log) }
        let kept = ConnectionRecord.list(in: log.json)
        #expect(kept.map(\.number) == Array(1...16) + Array(953...1000))
        #expect(kept.allSatisfy { $0.origin == "http://h\($0.number)" })
    }

    @Test func upToTheBoundAllAreKept() {
        for number in 1...64 { begin(number, in: log) }
        #expect(ConnectionRecord.list(in: log.json).map(\.number) == Array(1...64))
        begin(65, in: log)
        #expect(ConnectionRecord.list(in: log.json).map(\.number) == Array(1...16) + Array(18...65))
    }

    @Test func whatAnotherLogHasIsTakenOver() {
        let shared = ConnectionLog(now: log.now)
        for number in 1...100 { begin(number, in: shared) }
        log.add(shared)
        #expect(log.records == shared.records)
        begin(101, in: log)
        #expect(log.records.map(\.number) == Array(1...16) + Array(54...101))
        #expect(log.records.last?.origin == "http://h101")
    }

    @Test func everyFieldIsReadAsItWasWritten() throws {
        let entry = log.begin(
            method: "PUT", origin: "https://a\"b", address: "[2001:db8::1]:443", proxy: "http://proxy:3128")
        let lean = try #require(log.json)
        #expect(
            lean.string == #"[{"number":1,"method":"PUT","origin":"https://a\"b","address":"[2001:db8::1]:443","#
                + #""proxy":"http://proxy:3128","started_at":"2025-06-15T15:06:40.123Z","sent_bytes":0,"received_bytes":0}]"#
        )
        #expect(ConnectionRecord.list(in: lean) == log.records)
        entry.update {
            $0.isReused = true
            $0.tls = "1.3"
            $0.protocolName = "HTTP/1.1"
            $0.connectMs = 1
            $0.firstByteMs = 2
            $0.totalMs = 3
            $0.sentBytes = 4
            $0.receivedBytes = 5
            $0.status = 206
            $0.error = "connection_lost"
        }
        let full = try #require(log.json)
        #expect(throws: Never.self) { try JSONText(checking: full.bytes) }
        #expect(ConnectionRecord.list(in: full) == log.records)
        #expect(log.records.first?.error == "connection_lost")
    }
}
