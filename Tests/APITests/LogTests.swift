import Client
import ControlProtocol
import Foundation
import JobFiles
import Jobs
import Testing

@testable import API

/// Logs and files of jobs over a real socket.
@Suite struct LogTests {
    private func start(_ server: TestServer) async throws -> Lease {
        _ = try await server.enqueue(.echo("a"))
        return try #require(try await server.claim().first).lease
    }

    private func texts(_ pieces: [LogPiece]) -> [String] {
        pieces.compactMap {
            if case .line(let line) = $0.entry { String(decoding: line.bytes, as: UTF8.self) } else { nil }
        }
    }

    private func all(_ server: TestServer, _ request: LogRequest) async throws -> [LogPiece] {
        var pieces: [LogPiece] = []
        for try await list in try await server.client.log(request) { pieces += list }
        return pieces
    }

    @Test func aLogArrivesAsItWasWritten() async throws {
        try await TestServer.with { server in
            let lease = try await start(server)
            let log = try server.files.beginLog(of: lease)
            let odd: [UInt8] = [0xFF, 0x00, 0x1B, 0x80]
            log.append(Array("one\n\u{1B}[2J\u{2028}\"\\\n".utf8) + odd + [0x0A] + Array("end".utf8))
            var pieces = try await all(server, LogRequest(job: lease.job))
            #expect(pieces.last == LogPiece(attempt: 1, entry: .end(.open)))
            log.finish()
            pieces = try await all(server, LogRequest(job: lease.job))
            let lines = pieces.compactMap { if case .line(let line) = $0.entry { line } else { nil } }
            #expect(
                lines.map(\.bytes) == [Array("one".utf8), Array("\u{1B}[2J\u{2028}\"\\".utf8), odd, Array("end".utf8)])
            #expect(lines.map(\.isWhole) == [true, true, true, false])
            #expect(lines.map(\.arrivedAt) == Array(repeating: TestClock.start, count: 4))
            #expect(pieces.last == LogPiece(attempt: 1, entry: .end(.finished)))
            let rest = try await all(server, LogRequest(job: lease.job, attempt: 1, offset: lines[2].offset))
            #expect(rest == Array(pieces.dropFirst(2)))
        }
    }

    @Test func aLongLogArrivesCompletely() async throws {
        try await TestServer.with { server in
            let lease = try await start(server)
            let log = try server.files.beginLog(of: lease, limit: 2 << 20)
            for number in 0..<150_000 { log.append(Array("line number \(number)\n".utf8)) }
            log.finish()
            let pieces = try await all(server, LogRequest(job: lease.job))
            var left = 0
            for case .leftOut(let gap) in pieces.map(\.entry) { left += Int(gap.lines) }
            #expect(left > 0)
            #expect(texts(pieces).count + left == 150_000)
            #expect(texts(pieces).last == "line number 149999")
        }
    }

    /// The reader waits for each line; all arrive once and in order.
    @Test func aFollowerGetsLinesAsTheyArrive() async throws {
        try await TestServer.with { server in
            let lease = try await start(server)
            let log = try server.files.beginLog(of: lease)
            log.append(Array("line 0\n".utf8))
            var found: [String] = []
            var end: LogEntry?
            for try await list in try await server.client.log(LogRequest(job: lease.job, follows: true)) {
                for piece in list {
                    guard case .line = piece.entry else {
                        end = piece.entry
                        try await server.finish(lease, .succeeded(json("{}")))
                        continue
                    }
                    found += texts([piece])
                    if found.count < 100 { log.append(Array("line \(found.count)\n".utf8)) } else { log.finish() }
                }
            }
            #expect(found == (0..<100).map { "line \($0)" })
            #expect(end == .end(.finished))
        }
    }

    @Test func aFollowerWaitsForTheJobAndForItsNextAttempt() async throws {
        try await TestServer.with { server in
            let job = try await server.enqueue(.echo("a")).jobs[0]
            let stream = try await server.client.log(LogRequest(job: job, follows: true))
            let reading = Task {
                var pieces: [LogPiece] = []
                for try await list in stream { pieces += list }
                return pieces
            }
            let first = try #require(try await server.claim().first).lease
            let log = try server.files.beginLog(of: first)
            log.append(Array("first\n".utf8))
            log.finish()
            try await server.finish(first, .interrupted)
            let second = try #require(try await server.claim().first).lease
            #expect(second.attempt == 2)
            let next = try server.files.beginLog(of: second)
            next.append(Array("second\n".utf8))
            next.finish()
            try await server.finish(second, .failed(JobFailure(code: "exit_1", message: "No.")))
            let pieces = try await reading.value
            #expect(texts(pieces) == ["first", "second"])
            #expect(pieces.map(\.attempt) == [1, 1, 2, 2])
            let one = try await all(server, LogRequest(job: job, attempt: 1, follows: true))
            #expect(texts(one) == ["first"])
        }
    }

    @Test func aFollowerOfAJobThatNeverWritesGetsTheReason() async throws {
        try await TestServer.with { server in
            let lease = try await start(server)
            let stream = try await server.client.log(LogRequest(job: lease.job, follows: true))
            try await server.finish(lease, .succeeded(json("{}")))
            let problem = await #expect(throws: ControlProblem.self) { for try await _ in stream {} }
            #expect(problem?.code == .notFound)
        }
    }

    @Test func theServerStopsWhileALogIsFollowed() async throws {
        let following = try await TestServer.with { server in
            let lease = try await start(server)
            let log = try server.files.beginLog(of: lease)
            log.append(Array("one\n".utf8))
            let following = try await server.client.log(LogRequest(job: lease.job, follows: true))
            for try await _ in following { break }
            return following
        }
        let problem = await #expect(throws: ControlProblem.self) { for try await _ in following {} }
        #expect(problem?.code == .unavailable)
    }

    @Test func missingLogsAreExplained() async throws {
        try await TestServer.with { server in
            let waiting = try await server.enqueue(.echo("a")).jobs[0]
            func problem(_ request: LogRequest) async -> ControlProblem? {
                await #expect(throws: ControlProblem.self) { try await server.client.log(request) }
            }
            #expect(await problem(LogRequest(job: JobID(99)))?.message.hasPrefix("There is no job 99") == true)
            let unstarted = await problem(LogRequest(job: waiting))
            #expect(unstarted?.code == .notFound)
            #expect(unstarted?.message.contains("has not started") == true)
            let lease = try #require(try await server.claim().first).lease
            #expect(
                await problem(LogRequest(job: lease.job))?.message.contains("its kind, echo, has written none") == true)
            try server.files.beginLog(of: lease).finish()
            #expect(await problem(LogRequest(job: lease.job, attempt: 3))?.message.hasPrefix("Attempt 3") == true)
            #expect(await problem(LogRequest(job: lease.job, offset: 3))?.code == .invalidRequest)
        }
    }

    @Test func aJobsDetailsNameItsLog() async throws {
        try await TestServer.with { server in
            let lease = try await start(server)
            let log = try server.files.beginLog(of: lease)
            for number in 0..<20 { log.append(Array("line \(number)\n".utf8)) }
            #expect(try await server.client.job(lease.job).log?.summary.isOpen == true)
            log.finish()
            try await server.finish(lease, .failed(JobFailure(code: "exit_1", message: "No.")))
            let report = try #require(try await server.client.job(lease.job).log)
            #expect(report.summary == LogSummary(attempt: 1, bytes: 150, lines: 20, isOpen: false))
            #expect(report.last == (10..<20).map { "line \($0)" })
        }
    }

    // MARK: Files

    @Test func aFileArrivesCompletely() async throws {
        try await TestServer.with { server in
            let lease = try await start(server)
            let bytes = (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let source = server.directory + "/out"
            try Data(bytes).write(to: URL(filePath: source))
            let kept = try server.files.keep(source, of: lease, name: "größe \"1\".png")
            let early = await #expect(throws: ControlProblem.self) { try await server.client.file(of: lease.job) }
            #expect(early?.code == .conflict)
            try await server.finish(lease, .succeeded(json("{}")))
            let content = try await server.client.file(of: lease.job)
            #expect(content.file == FileReport(name: kept.name, size: kept.size, sha256: kept.sha256))
            var found: [UInt8] = []
            for try await chunk in content.chunks { found += chunk }
            #expect(found == bytes)
            #expect(try await server.client.job(lease.job).file == content.file)
            let answer = try await Curl(socket: server.socket)("/v1/jobs/\(lease.job)/file", "--output", "/dev/null")
            #expect(answer.status == 200)
            #expect(answer.type == "application/octet-stream")
        }
    }

    @Test func aResultThatIsNoFileIsExplained() async throws {
        try await TestServer.with { server in
            let lease = try await start(server)
            try await server.finish(lease, .succeeded(json("{}")))
            let problem = await #expect(throws: ControlProblem.self) { try await server.client.file(of: lease.job) }
            #expect(problem?.code == .notFound)
            #expect(problem?.message == "The result of job 1 is not a file. To print it: halyard result 1")
        }
    }
}
