import Client
import ControlProtocol
import Jobs
import OperationTypes
import StoreControl
import Testing

@testable import API

/// Schedules over the real client, server and store.
@Suite struct ScheduleTests {
    @Test func scheduleIsWrittenPausedRunAndRemoved() async throws {
        try await TestServer.with { server in
            let (client, control) = (server.client, server.control)
            let document = "schedules: {tick: {calendar: hourly, definition: echo, input: {text: a}}}"
            #expect(try await client.apply(document, dryRun: false).map(\.type) == ["schedule"])
            let written = try await client.schedules()
            #expect(written.map(\.schedule.name) == ["tick"])
            // The next time is known although no scheduler has planned the schedule.
            #expect(written[0].nextAt != nil)
            #expect(written == (try await control.schedules()))
            let receipt = try await client.run(schedule: "tick")
            #expect(try await client.job(receipt.jobs[0]).job.input == json(#"{"text":"a"}"#))
            let paused = try await client.setPaused(true, schedule: "tick")
            #expect(paused.pausedAt == TestClock.start && paused.nextAt == nil && paused.lastJob == receipt.jobs[0])
            #expect(try await client.setPaused(false, schedule: "tick").pausedAt == nil)
            // A definition that a schedule uses cannot be removed.
            let used = await #expect(throws: ControlProblem.self) { try await client.removeDefinition("echo") }
            #expect(used?.code == .inUse)
            #expect(try await client.exportDefinitions().contains("calendar: \"*-*-* *:00:00\""))
            try await client.removeSchedule("tick")
            #expect(try await client.schedules().isEmpty)
            let gone = await #expect(throws: ControlProblem.self) { _ = try await client.run(schedule: "tick") }
            #expect(gone?.code == .notFound)
        }
    }

    @Test func oneScheduleIsShownAsInTheListing() async throws {
        try await TestServer.with { server in
            let document = "schedules: {tick: {calendar: hourly, definition: echo, input: {text: a}}}"
            _ = try await server.client.apply(document, dryRun: false)
            #expect(try await [server.control.schedule("tick")] == server.control.schedules())
            let curl = Curl(socket: server.socket)
            #expect(try await curl("/v1/schedules/tick").body == server.control.schedule("tick").json.string + "\n")
            let gone = try await curl("/v1/schedules/tik")
            #expect(gone.status == 404 && gone.body.contains("did you mean"), "\(gone.body)")
            let unknown = try await curl("/v1/definitions/ecko")
            #expect(unknown.status == 404 && unknown.body.contains("did you mean"), "\(unknown.body)")
        }
    }

    @Test(arguments: [
        ("{calendar: hourly, definition: ehco}", "did you mean \"echo\"?"),
        ("{calendar: hourly, definition: echo, input: {txt: a}}", "did you mean \"text\"?"),
        ("{calendar: daily Europe/Berlim, definition: echo, input: {text: a}}", "unknown time zone \"Europe/Berlim\""),
        ("{calendar: hourly, definition: echo}", "text"),
    ])
    func aScheduleThatCannotEnqueueIsRefused(schedule: String, message: String) async throws {
        try await TestServer.with { server in
            let refusal = await #expect(throws: ControlProblem.self) {
                try await server.client.apply("schedules: {tick: \(schedule)}", dryRun: false)
            }
            #expect(refusal?.code == .invalidDefinitions)
            #expect(refusal?.message.contains(message) == true, "\(refusal?.message ?? "")")
            let written = try await server.client.schedules()
            #expect(written.isEmpty)
        }
    }

    @Test func aScheduleIsCheckedLikeAnyRequestWhenItFires() async throws {
        try await TestServer.with { server in
            let document =
                "schedules: {tick: {calendar: hourly, definition: echo, input: {text: a, file: /etc/passwd}}}"
            _ = try await server.client.apply(document, dryRun: false)
            let refusal = await #expect(throws: ControlProblem.self) {
                _ = try await server.client.run(schedule: "tick")
            }
            #expect(refusal?.code == .invalidDefinitions)
            let schedule = try await server.client.schedules()[0].schedule
            guard case .refused = try await server.control.work(of: schedule) else { throw TestFailure("not refused") }
        }
    }
}
