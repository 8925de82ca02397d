import Client
import ControlProtocol
import Jobs
import OperationTypes
import Testing

@testable import API

/// Queues are only created and removed explicitly.
@Suite struct QueueTests {
    @Test func queueIsChangedAndASlipIsNoNewQueue() async throws {
        try await TestServer.with { server in
            let unknown = await #expect(throws: ControlProblem.self) {
                try await server.client.change(QueueChange(name: "fast", limit: 7))
            }
            #expect(unknown?.code == .unknownQueue)
            let made = try await server.client.change(QueueChange(name: "fast", limit: 7, weight: 3), create: true)
            #expect(made.settings == QueueSettings(name: "fast", limit: 7, weight: 3))
            #expect(
                try await server.client.change(QueueChange(name: "fast", isPaused: true)).pausedAt == TestClock.start)
            #expect(try await server.client.queues().map(\.settings.name).contains("fast"))
            let plain = try await server.client.change(QueueChange(name: "plain"), create: true)
            #expect(plain.settings == QueueSettings(name: "plain"))
            // Creating an existing queue changes nothing.
            let again = try await server.client.change(QueueChange(name: "fast"), create: true)
            #expect(again.settings == made.settings)
            let slip = await #expect(throws: ControlProblem.self) {
                try await server.client.change(QueueChange(name: "fats", isPaused: true))
            }
            #expect(slip?.code == .unknownQueue)
            #expect(slip?.message.contains("\"fast\"") == true)
            let zero = await #expect(throws: ControlProblem.self) {
                try await server.client.change(QueueChange(name: "fast", limit: 0))
            }
            #expect(zero?.code == .invalidRequest)
            let few = try await server.client.change(QueueChange(name: "fast", limitPerDaemon: .atMost(2)))
            #expect(few.settings == QueueSettings(name: "fast", limit: 7, limitPerDaemon: 2, weight: 3))
            let free = try await server.client.change(QueueChange(name: "fast", limitPerDaemon: .unlimited))
            #expect(free.settings == made.settings)
            let none = await #expect(throws: ControlProblem.self) {
                try await server.client.change(QueueChange(name: "fast", limitPerDaemon: .atMost(0)))
            }
            #expect(none?.message.contains("limit_per_daemon: expected 1 to 10000, found 0") == true)
        }
    }

    @Test func aQueueIsRemovedUnlessSomethingNamesIt() async throws {
        try await TestServer.with { server in
            let document = """
                queues: {mail: {limit: 2}, net: {limit: 2}}
                definitions: {shout: {kind: echo, queue: mail}}
                schedules: {tick: {calendar: daily, definition: shout, queue: net, input: {text: a}}}
                """
            _ = try await server.client.apply(document, dryRun: false)
            for (queue, user) in [("mail", "definition \"shout\""), ("net", "schedule \"tick\"")] {
                let used = await #expect(throws: ControlProblem.self) { try await server.client.removeQueue(queue) }
                #expect(used?.code == .inUse)
                #expect(used?.message.contains("is used by the \(user). Change those first.") == true)
            }
            try await server.client.removeSchedule("tick")
            try await server.client.removeQueue("net")
            let names = try await server.client.queues().map(\.settings.name)
            #expect(names.contains("mail") && !names.contains("net"))
            let gone = await #expect(throws: ControlProblem.self) { try await server.client.removeQueue("net") }
            #expect(gone?.code == .unknownQueue)
            let always = await #expect(throws: ControlProblem.self) { try await server.client.removeQueue("default") }
            #expect(always?.code == .inUse)
            let answers = try await server.client.enqueue([
                Submission(.definition("echo"), input: json(#"{"text":"a"}"#), queue: "net")
            ])
            guard case .refused(let problem)? = answers.first else { throw TestFailure("\(answers)") }
            #expect(problem.code == .unknownQueue)
        }
    }
}
