import Client
import Control
import Jobs
import OperationTypes
import Testing

@testable import API

/// Every verb through the real client, the real server and the real store.
@Suite struct VerbTests {
    @Test func jobGoesFromEnqueueToItsResult() async throws {
        try await TestServer.with { server in
            let answers = try await server.client.enqueue([.echo("hello")])
            guard case .enqueued(let receipt)? = answers.first else { throw TestFailure("\(answers)") }
            let id = try #require(receipt.jobs.first)
            #expect(try await server.client.result(id) == nil)
            #expect(try await server.client.job(id).job.input == json(#"{"text":"hello"}"#))
            try await server.runAll()
            let result = try #require(try await server.client.result(id))
            #expect(result.value == .succeeded(json(#"{"text":"done"}"#)))
            #expect(try await server.client.job(id).attempts.count == 1)
            #expect(try await server.client.job(id) == (try await server.control.job(id)))
        }
    }

    @Test func refusedSubmissionSaysWhyAndLeavesNothing() async throws {
        try await TestServer.with { server in
            let answers = try await server.client.enqueue([Submission(.definition("ehco"))])
            guard case .refused(let problem)? = answers.first else { throw TestFailure("\(answers)") }
            #expect(problem.code == .unknownDefinition)
            #expect(problem.message.contains("did you mean \"echo\"?"))
            #expect(try await server.client.jobs(JobFilter()).isEmpty)
        }
    }
}
