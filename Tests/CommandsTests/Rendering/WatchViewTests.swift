import ControlProtocol
import Jobs
import OperationTypes
import Testing

@testable import Commands

@Suite struct WatchViewTests {
    private let now = Samples.now

    private func bytes(_ completed: Int64) -> OperationProgress {
        OperationProgress(completed: completed << 20, total: 64 << 20, unit: "bytes")
    }

    /// Renders the events of one upload: as lines and a live block if `isLive`, and as lines only otherwise.
    private func follow(isLive: Bool) throws -> String {
        var view = WatchView(isLive: isLive)
        let events: [(Duration, WatchEvent)] = [
            (.zero, .job(Samples.job(41, .succeeded, node: "resolve"))),
            (.zero, .job(Samples.job(42, .running, definition: "upload"))),
            (.zero, .job(Samples.job(43, .blocked, pending: 1))),
            (.seconds(1), .progress(job: JobID(42), attempt: 1, bytes(8))),
            (.seconds(1.5), .progress(job: JobID(42), attempt: 1, bytes(12))),
            (.seconds(2), .progress(job: JobID(42), attempt: 1, bytes(17))),
            (.seconds(3), .missed),
            (.seconds(4), .progress(job: JobID(42), attempt: 1, bytes(64))),
            (.seconds(5), .job(Samples.job(42, .succeeded, definition: "upload"))),
            (.seconds(5), .job(Samples.job(43, .running))),
            (.seconds(6), .job(Samples.job(43, .failed))),
            (.seconds(6), .final),
        ]
        var text = ""
        for (elapsed, event) in events {
            for line in view.apply(event, at: elapsed, now: now + elapsed) { text += line.plain + "\n" }
            guard isLive else { continue }
            for line in view.block(height: 24, now: now + elapsed) { text += "    | " + line.plain + "\n" }
        }
        return text
    }

    @Test func aTerminalShowsABlock() throws { try Golden.expect(try follow(isLive: true), "watch-live.txt") }

    @Test func elsewhereEachChangeIsALine() throws { try Golden.expect(try follow(isLive: false), "watch-lines.txt") }

    @Test func theBlockFitsTheTerminal() {
        var view = WatchView(isLive: true)
        for id in 1...100 { _ = view.apply(.job(Samples.job(Int64(id), .running)), at: .zero, now: now) }
        let block = view.block(height: 10, now: now)
        #expect(block.count == 10)
        #expect(block[8].plain == "  and 92 more")
        #expect(block[9].plain == "100 running")
    }

    @Test func theRateIsThatOfTheLastSeconds() {
        var rates = WatchRates()
        let job = JobID(1)
        rates.record(OperationProgress(completed: 0, unit: "bytes"), of: job, at: .zero)
        #expect(rates.rate(of: job) == nil)
        for second in 1...20 {
            let fast = max(0, second - 10)
            rates.record(
                OperationProgress(completed: Int64(second + 99 * fast), unit: "bytes"), of: job, at: .seconds(second))
        }
        #expect(rates.rate(of: job) == 100)
        // A new attempt restarts the measurement.
        rates.record(OperationProgress(completed: 1, unit: "bytes"), of: job, at: .seconds(21))
        #expect(rates.rate(of: job) == nil)
    }

    @Test func theBlockIsDrawnOverItself() throws {
        let text = try Capture.text(terminal: (10, 24)) { output in
            var block = LiveBlock(output)
            try block.draw(["one", "two"], below: [])
            try block.draw(["a longer line than fits"], below: ["stays"])
            try block.draw([], below: [])
        }
        #expect(text == "one\ntwo\n\u{1B}[2A\r\u{1B}[Jstays\na longer…\n\u{1B}[1A\r\u{1B}[J")
    }
}
