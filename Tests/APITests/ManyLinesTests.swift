import Client
import ControlProtocol
import Jobs
import Synchronization
import Testing

@testable import API

/// Many submissions as JSON Lines.
@Suite struct ManyLinesTests {
    @Test func tenThousandSubmissionsAreAnsweredInOrder() async throws {
        try await TestServer.with { server in
            let submissions = (0..<10_000).map { index in
                index % 1000 == 7 ? Submission(.definition("none\(index)")) : Submission.echo("\(index)")
            }
            let answers = try await server.client.enqueue(submissions)
            #expect(answers.count == 10_000)
            var last = JobID(0)
            for (index, answer) in answers.enumerated() {
                switch answer {
                case .enqueued(let receipt):
                    #expect(index % 1000 != 7)
                    #expect(receipt.jobs[0] > last)
                    last = receipt.jobs[0]
                case .refused(let problem):
                    #expect(index % 1000 == 7)
                    #expect(problem.message.contains("none\(index)"))
                case .duplicate: throw TestFailure("line \(index) is no duplicate")
                }
            }
            #expect(try await server.client.job(last).job.input == json(#"{"text":"9999"}"#))
        }
    }

    @Test func repeatingLinesWithKeysAddsNothing() async throws {
        try await TestServer.with { server in
            let submissions = (0..<2000).map { Submission.echo("\($0)", key: "key-\($0)") }
            let first = try await server.client.enqueue(submissions)
            let second = try await server.client.enqueue(submissions)
            for (a, b) in zip(first, second) {
                guard case .enqueued(let receipt) = a else { throw TestFailure("\(a)") }
                #expect(b == .duplicate(receipt))
            }
            #expect(try await server.client.status().counts.total == 2000)
        }
    }

    /// A caller repeats everything from the first line without a receipt, so accepted later lines would be enqueued
    /// twice.
    @Test func nothingIsAcceptedBehindALineThatTheDaemonCouldNotTake() async throws {
        let pieces = Mutex(0)
        var control = PartialControl()
        control.enqueueing = { submissions throws(ControlProblem) in
            let piece = pieces.withLock { pieces in
                pieces += 1
                return pieces
            }
            return submissions.indices.map { index in
                piece == 1 && index > 0
                    ? .refused(ControlProblem(.unavailable, "The disk is full."))
                    : .enqueued(EnqueueReceipt(graph: nil, jobs: [JobID(1)]))
            }
        }
        try await TestServer.with { [control] server in
            try await server.serve(control) { client in
                let answers = try await client.enqueue((0..<10_000).map { Submission.echo("\($0)") })
                #expect(answers.count == 10_000)
                guard case .enqueued? = answers.first else { throw TestFailure("the first was accepted") }
                for answer in answers.dropFirst() {
                    guard case .refused(let problem) = answer else { throw TestFailure("\(answer)") }
                    #expect(problem.message == "The disk is full.")
                }
            }
        }
        #expect(pieces.withLock(\.self) == 1)
    }

    @Test func badLinesAreAnsweredInPlace() async throws {
        try await TestServer.with { server in
            let long = #"{"definition":"echo","input":{"text":""# + String(repeating: "x", count: 1 << 20) + "\"}}"
            let lines = [
                #"{"definition":"echo","input":{"text":"1"}}"#, "not json", long, "",
                #"{"definition":"echo","input":{"text":"a","text":"b"}}"#,
                #"{"definition":"echo","input":{"text":"\u0000"}}"#, #"{"definition":"echo","input":{"text":"last"}}"#,
            ]
            let curl = Curl(socket: server.socket)
            let answer = try await curl(
                "-X", "POST", "-H", "Content-Type: application/x-ndjson", "--data-binary", "@-", "/v1/jobs",
                input: lines.joined(separator: "\n"))
            #expect(answer.status == 200)
            #expect(answer.type == "application/x-ndjson")
            let answers = try answer.body.split(separator: "\n").map { try SubmissionAnswer(json: json(String($0))) }
            let codes = answers.map { answer -> ControlProblem.Code? in
                if case .refused(let problem) = answer { problem.code } else { nil }
            }
            #expect(codes == [nil, .invalidRequest, .tooLarge, .invalidRequest, .invalidRequest, nil])
            #expect(try await server.client.status().counts.total == 2)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 64]) func linesAreCutWhereverChunksEnd(size: Int) {
        let bytes = Array("one\r\n\ntwo\nxxxxxxxxxxxxxxxxxxxxx\nthree".utf8)
        var splitter = LineSplitter(limit: 8)
        var lines: [LineSplitter.Line] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines += splitter.add(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        if let last = splitter.finish() { lines.append(last) }
        let expected: [LineSplitter.Line] = [
            .whole(Array("one".utf8)), .whole(Array("two".utf8)), .tooLong, .whole(Array("three".utf8)),
        ]
        #expect(lines == expected)
    }
}
