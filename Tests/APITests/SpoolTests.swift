import Client
import ControlProtocol
import Foundation
import Jobs
import StoreControl
import Testing

@testable import API

/// Files that callers upload into the spool for a job.
@Suite struct SpoolTests {
    private struct Pieces: AsyncSequence, Sendable {
        let count: Int
        var failsAt: Int?

        func makeAsyncIterator() -> Iterator { Iterator(pieces: self) }

        struct Iterator: AsyncIteratorProtocol {
            let pieces: Pieces
            var index = 0

            mutating func next() async throws -> [UInt8]? {
                if index == pieces.failsAt { throw TestFailure("the file cannot be read") }
                guard index < pieces.count else { return nil }
                index += 1
                return [UInt8](repeating: UInt8(index % 251), count: 65536)
            }
        }
    }

    private func files(_ server: TestServer) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: server.spool)
    }

    @Test func fileIsKeptForItsOwnerUntilItsJobsHaveSucceeded() async throws {
        try await TestServer.with { server in
            let name = try await server.client.spool(Pieces(count: 100), size: 100 * 65536)
            #expect(name.hasPrefix("spool:"))
            let path = server.spool + "/" + name.dropFirst("spool:".count)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.size] as? Int == 100 * 65536)
            #expect(attributes[.posixPermissions] as? Int == 0o400)
            #expect(
                try FileManager.default.attributesOfItem(atPath: server.spool)[.posixPermissions] as? Int == 0o700)
            let input = json("{\"text\":\"a\",\"file\":\"\(name)\"}")
            _ = try await server.enqueue(Submission(.definition("echo"), input: input))
            let second = try await server.enqueue(Submission(.definition("echo"), input: input)).jobs[0]
            let claimed = try await server.claim()
            try await server.finish(claimed[0].lease, .succeeded(json("{}")))
            #expect(try files(server).count == 1)
            #expect(claimed[1].lease.job == second)
            try await server.finish(claimed[1].lease, .succeeded(json("{}")))
            // The spool's thread removes the file before it handles the next request.
            _ = try await server.client.spool(Pieces(count: 1), size: nil)
            #expect(!FileManager.default.fileExists(atPath: path))
            let again = await #expect(throws: ControlProblem.self) {
                try await server.client.retry(second, dependents: false)
            }
            #expect(again?.code == .invalidInput)
            guard
                case .refused(let problem)? = try await server.client.enqueue(
                    [Submission(.definition("echo"), input: input)]).first
            else { throw TestFailure("a file that is gone was accepted") }
            #expect(problem.code == .invalidInput)
        }
    }

    @Test func fileBeyondTheLimitIsRefusedWhetherAnnouncedOrNot() async throws {
        try await TestServer.with(maxSpoolBytes: 1 << 20) { server in
            for size in [Int64(100 * 65536), nil] {
                let error = await #expect(throws: ControlProblem.self) {
                    try await server.client.spool(Pieces(count: 100), size: size)
                }
                #expect(error?.code == .tooLarge)
            }
            let left = try files(server)
            #expect(left.isEmpty)
        }
    }

    @Test func allFilesTogetherAreLimitedToo() async throws {
        try await TestServer.with(maxSpoolBytes: 1 << 20) { server in
            let name = try await server.client.spool(Pieces(count: 10), size: 10 * 65536)
            for size in [Int64(10 * 65536), nil] {
                let error = await #expect(throws: ControlProblem.self) {
                    try await server.client.spool(Pieces(count: 10), size: size)
                }
                #expect(error?.code == .unavailable)
                #expect(error?.message.hasPrefix("The spool is full") == true)
            }
            let left = try files(server)
            #expect(left.map { "spool:" + $0 } == [name])
            // Existing files count from the start.
            let restarted = try Spool(directory: server.spool, maxBytes: 10 * 65536)
            let error = await #expect(throws: ControlProblem.self) {
                try await StoreControl(
                    store: server.store, database: "", version: "test",
                    daemon: DaemonHooks(
                        condition: { .init(state: .running, pid: 1, startedAt: TestClock.start) }, spool: restarted),
                    now: { TestClock.start }
                ).spool(Pieces(count: 1), size: nil)
            }
            #expect(error?.code == .unavailable)
            let input = json("{\"text\":\"a\",\"file\":\"\(name)\"}")
            let job = try await server.enqueue(Submission(.definition("echo"), input: input)).jobs[0]
            _ = try await server.control.cancel(.jobs([job]))
            let status = try await server.client.status()
            #expect(
                status.spool
                    == SpoolReport(
                        files: 1, bytes: 10 * 65536, maxBytes: 1 << 20, keptFiles: 1, keptBytes: 10 * 65536))
            let full = await #expect(throws: ControlProblem.self) {
                try await server.client.spool(Pieces(count: 10), size: 10 * 65536)
            }
            #expect(full?.message.contains("halyard prune --older-than 1d --outcome failed") == true)
            let pruned = try await server.client.prune(
                PruneRequest(finishedBefore: TestClock.start + .seconds(1), outcomes: [.cancelled]))
            #expect(pruned.deleted == 1)
            _ = try await server.client.spool(Pieces(count: 10), size: 10 * 65536)
        }
    }

    @Test func theCopyOfARepeatedRequestGoesAtOnce() async throws {
        try await TestServer.with { server in
            let first = try await server.client.spool(Pieces(count: 1), size: nil)
            let second = try await server.client.spool(Pieces(count: 1), size: nil)
            func submission(_ file: String) -> Submission {
                Submission(
                    .definition("echo"), input: json("{\"text\":\"a\",\"file\":\"\(file)\"}"), key: "one")
            }
            let receipt = try await server.enqueue(submission(first))
            #expect(try await server.control.enqueue([submission(second)]) == [.duplicate(receipt)])
            // The spool's thread removes the copy before it handles the next request.
            let third = try await server.client.spool(Pieces(count: 1), size: nil)
            let left = Set(try files(server).map { "spool:" + $0 })
            #expect(left == [first, third])
        }
    }

    @Test func sourceThatFailsLeavesNothing() async throws {
        try await TestServer.with { server in
            await #expect(throws: (any Error).self) {
                try await server.client.spool(Pieces(count: 100, failsAt: 50), size: 100 * 65536)
            }
            // The server notices the failure a moment later, but its spool thread handles it before the next request.
            _ = try await server.client.spool(Pieces(count: 1), size: nil)
            let left = try files(server).filter { !$0.hasSuffix(".part") }
            #expect(left.count == 1)
        }
    }

    @Test func retriesOfFailedAndCancelledJobsUseTheSameFile() async throws {
        try await TestServer.with { server in
            let name = try await server.client.spool(Pieces(count: 3), size: nil)
            let input = json("{\"text\":\"a\",\"file\":\"\(name)\"}")
            let first = try await server.enqueue(Submission(.definition("echo"), input: input)).jobs[0]
            let claimed = try await server.claim()
            try await server.finish(claimed[0].lease, .failed(JobFailure(code: "http_status", message: "It was 401.")))
            let second = try await server.client.retry(first, dependents: false).jobs[0]
            _ = try await server.client.cancel(.jobs([second]))
            let third = try await server.client.retry(second, dependents: false).jobs[0]
            #expect(try await server.client.job(third).job.input == input)
            #expect(try files(server).map { "spool:" + $0 } == [name])
        }
    }

    @Test func leftoversGoAfterADayUnlessAnOpenJobNamesThem() async throws {
        let clock = TestClock()
        try await TestServer.with(clock: clock) { server in
            let named = try await server.client.spool(Pieces(count: 1), size: nil)
            let forgotten = try await server.client.spool(Pieces(count: 1), size: nil)
            let input = json("{\"text\":\"a\",\"file\":\"\(named)\"}")
            _ = try await server.enqueue(Submission(.definition("echo"), input: input))
            try Data().write(to: URL(fileURLWithPath: server.spool + "/not ours"))
            clock.advance(by: .seconds(86_401))
            // The new control has seen no enqueue, as after a restart.
            let restarted = StoreControl(
                store: server.store, database: "", version: "test",
                daemon: DaemonHooks(
                    condition: { .init(state: .running, pid: 1, startedAt: TestClock.start) },
                    spool: try Spool(directory: server.spool, maxBytes: 1 << 20)), now: { clock.now })
            try await restarted.recoverSpool()
            let last = try await restarted.spool(Pieces(count: 1), size: nil)
            let left = Set(try files(server).map { "spool:" + $0 })
            #expect(left == [named, last, "spool:not ours"])
            #expect(!left.contains(forgotten))
            try await server.runAll()
            _ = try await restarted.spool(Pieces(count: 1), size: nil)
            #expect(try !files(server).map { "spool:" + $0 }.contains(named))
        }
    }

    /// The file is larger than any other body may be, and not more, since a debug build digests it byte by byte.
    @Test func curlHandsOverAFile() async throws {
        try await TestServer.with { server in
            let file = server.directory + "/big"
            try Data(repeating: 7, count: 2 << 20).write(to: URL(fileURLWithPath: file))
            let answer = try await Curl(socket: server.socket)("-T", file, "-X", "POST", "/v1/spool")
            #expect(answer.status == 201)
            let name = try SpoolAnswer(json: json(answer.body)).file
            let path = server.spool + "/" + name.dropFirst("spool:".count)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(repeating: 7, count: 2 << 20))
        }
    }
}
