import Client
import ControlProtocol
import Jobs
import Testing

/// A repeated request with a key returns the first response.
@Suite struct IdempotencyKeyTests {
    /// P1: a repeated request returns its receipt, even if the definition and file that it names no longer exist.
    @Test func p1KeyAnswersAlsoWhenItsDefinitionAndItsFileAreGone() async throws {
        try await TestServer.with { server in
            let file = try await server.client.spool(AsyncStream<[UInt8]> { $0.finish() }, size: 0)
            var spooled = Submission.echo("a", key: "file")
            spooled.input = json("{\"text\":\"a\",\"file\":\"\(file)\"}")
            let requests = [
                Submission.echo("a", key: "k"), Submission(.definition("chain"), input: nil, key: "none"), spooled,
            ]
            let first = try await server.client.enqueue(requests)
            guard case .enqueued(let receipt) = first[0], case .refused = first[1],
                case .enqueued(let second) = first[2]
            else { throw TestFailure("\(first)") }
            try await server.runAll()
            try await server.client.removeDefinition("chain")
            try await server.client.removeDefinition("echo")
            let repeated = try await server.client.enqueue(requests)
            #expect(repeated[0] == .duplicate(receipt))
            #expect(repeated[2] == .duplicate(second))
            guard case .refused(let unknown) = repeated[1] else { throw TestFailure("a refused request used its key") }
            #expect(unknown.code == .unknownDefinition)
            guard case .refused(let reused)? = try await server.client.enqueue([.echo("b", key: "k")]).first else {
                throw TestFailure("another request took the key")
            }
            #expect(reused.code == .keyReused)
            #expect(try await server.client.jobs(JobFilter()).count == 2)
        }
    }

    /// Each repetition copies the user's file into the spool under a new name.
    @Test func p1KeyKnowsASpooledFileByItsContent() async throws {
        try await TestServer.with { server in
            func submission(_ content: [UInt8]) async throws -> Submission {
                let pieces = AsyncStream<[UInt8]> { stream in
                    stream.yield(content)
                    stream.finish()
                }
                let name = try await server.client.spool(pieces, size: nil)
                var submission = Submission.echo("a", key: "k")
                submission.input = json("{\"text\":\"a\",\"file\":\"\(name)\"}")
                return submission
            }
            guard case .enqueued(let receipt)? = try await server.client.enqueue([submission([1, 2])]).first else {
                throw TestFailure("the first was not accepted")
            }
            let again = try await submission([1, 2])
            #expect(try await server.client.enqueue([again]) == [.duplicate(receipt)])
            guard case .refused(let problem)? = try await server.client.enqueue([submission([1, 3])]).first else {
                throw TestFailure("another file took the key")
            }
            #expect(problem.code == .keyReused)
        }
    }

    /// P1: if many enqueues race with one key, one succeeds and all return the same receipt.
    @Test func p1RacingEnqueuesWithOneKeyAreOne() async throws {
        try await TestServer.with { server in
            let answers = try await withThrowingTaskGroup(of: SubmissionAnswer.self) { group in
                for _ in 1...50 {
                    group.addTask { try await server.client.enqueue([.echo("a", key: "k")])[0] }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let receipt = EnqueueReceipt(graph: nil, jobs: [JobID(1)])
            #expect(answers.count { $0 == .enqueued(receipt) } == 1)
            #expect(answers.count { $0 == .duplicate(receipt) } == 49)
            #expect(try await server.client.jobs(JobFilter()).count == 1)
        }
    }

    @Test func keyMakesARepeatedEnqueueHarmless() async throws {
        try await TestServer.with { server in
            let first = try await server.client.enqueue([.echo("a", key: "k")])
            let second = try await server.client.enqueue([.echo("a", key: "k")])
            guard case .enqueued(let receipt)? = first.first else { throw TestFailure("\(first)") }
            #expect(second == [.duplicate(receipt)])
            guard case .refused(let problem)? = try await server.client.enqueue([.echo("b", key: "k")]).first else {
                throw TestFailure("another request took the key")
            }
            #expect(problem.code == .keyReused)
            #expect(try await server.client.jobs(JobFilter()).count == 1)
        }
    }
}
