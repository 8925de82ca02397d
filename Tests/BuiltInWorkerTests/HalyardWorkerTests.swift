import Foundation
import Jobs
import OperationTypes
import Programs
import RunningWorkers
import Servers
import Testing
import WorkerProtocol

@Suite struct HalyardWorkerTests {
    // MARK: Running

    @Test func unfurlFollowsALinkAndReportsItsRequests() async throws {
        try await LoopbackServer.with { request in
            request.path == "/a" ? .redirect(302, to: "/b") : .text("<title>B</title>")
        } _: { server in
            try await Self.withWorker(reaching: server) { worker in
                let end = try await worker.run("unfurl", #"{"url":"\#(server.origin)/a"}"#)
                let output = try #require(Self.output(of: end))
                #expect(output["final_url"]?.decodedString == server.origin + "/b")
                #expect(output["title"]?.decodedString == "B")
                guard case .connections(_, let json) = try #require(try worker.messages.dropLast().last) else {
                    Issue.record("the message before the end is another one")
                    return
                }
                #expect(ConnectionRecord.list(in: json).allSatisfy { $0.origin == server.origin })
            }
        }
    }

    @Test func uploadSendsAFileOfAnAllowedFolder() async throws {
        try await Self.withFolder { folder in
            try "the content".write(toFile: folder + "/file.txt", atomically: true, encoding: .utf8)
            try await LoopbackServer.with { _ in
                .text("", status: 201)
            } _: { server in
                try await Self.withWorker(reaching: server, #""upload.roots":["\#(folder)"]"#) { worker in
                    let end = try await worker.run(
                        "upload", #"{"file":"\#(folder)/file.txt","to":"\#(server.origin)/inbox"}"#)
                    #expect(Self.output(of: end) != nil)
                    #expect(server.requests.last?.body == Array("the content".utf8))
                }
            }
        }
    }

    @Test func enrichReadsThePageInASandbox() async throws {
        try await LoopbackServer.with { _ in
            .text("<title>A page</title>")
        } _: { server in
            try await Self.withWorker(reaching: server) { worker in
                let end = try await worker.run("enrich", #"{"url":"\#(server.origin)/"}"#)
                #expect(Self.output(of: end)?["title"]?.decodedString == "A page")
                #expect(try Self.children(of: worker.process.pid) == ["halyard-reader"])
            }
        }
    }

    @Test func aDrainedWorkerLeavesNoSandbox() async throws {
        try await LoopbackServer.with { _ in
            .text("<title>A page</title>")
        } _: { server in
            try await Self.withWorker(reaching: server) { worker in
                try await worker.run("enrich", #"{"url":"\#(server.origin)/"}"#)
                worker.send(.drain)
                // Also waits until all copies of the descriptors of the process are closed.
                #expect(await worker.process.waitForEnd() == .exited(0))
            }
        }
    }

    @Test func theUserAgentNamesTheAdministratorsSuffix() async throws {
        try await LoopbackServer.with { _ in
            .text("")
        } _: { server in
            let suffix = #""network.user_agent_suffix":"(+https://example.org/bot)""#
            try await Self.withWorker(reaching: server, suffix) { worker in
                try await worker.run("unfurl", #"{"url":"\#(server.origin)/"}"#)
                let agent = try #require(server.requests.first?.header("user-agent"))
                #expect(agent.contains("(+https://example.org/bot)"))
            }
        }
    }

    // MARK: The kinds

    @Test func threeKindsAreAnnounced() async throws {
        try await RunningWorker.with("halyard-worker") { worker in
            guard case .kinds(let announcement) = try #require(try worker.messages.first) else {
                Issue.record("the first message is another one")
                return
            }
            #expect(announcement.kinds.map(\.description.name) == ["upload", "unfurl", "enrich"])
            #expect(announcement.kinds.filter(\.checksInputs).count == 3)
            #expect(announcement.kinds.filter(\.cleansUp).map(\.description.name) == ["upload"])
            #expect(announcement.version != nil)
            #expect(announcement.warnings.isEmpty)
        }
    }

    @Test func inputsAreRefusedBeforeTheyRun() async throws {
        try await Self.withFolder { folder in
            try "secret".write(toFile: folder + "/outside.txt", atomically: true, encoding: .utf8)
            let settings = JSONText(trusted: Array(#"{"upload.roots":["\#(folder)/inside"]}"#.utf8))
            try await RunningWorker.with("halyard-worker", settings: settings) { worker in
                func planned(_ kind: String, _ input: String) -> PlannedInput {
                    PlannedInput(kind: kind, input: JSONText(trusted: Array(input.utf8)), stage: .whole)
                }
                worker.send(
                    .check(
                        id: 1,
                        [
                            planned("unfurl", #"{"url":"gopher://example.org"}"#),
                            planned("enrich", #"{"url":"https://example.org"}"#),
                            planned("upload", #"{"file":"\#(folder)/outside.txt","to":"https://example.org"}"#),
                        ]))
                let answer = try await worker.message { if case .checked = $0 { true } else { false } }
                guard case .checked(1, let refusals) = answer else {
                    Issue.record("the answer has another number")
                    return
                }
                #expect(refusals.map { $0?.reason } == [.invalid, nil, .fileOutsideRoots])
            }
        }
    }

    // MARK: Settings

    @Test func everyWrongSettingIsRefusedWithItsEntry() async throws {
        let worker = try RunningWorker("halyard-worker")
        let settings =
            #"{"network.ports":["80","0","x"],"unfurl.timeout":"soon","enrich.max_size":7,"network.allow":"x","slots":"9","network.authorities":"/nowhere/ca.pem"}"#
        worker.send(.hello(Hello(version: "test", settings: JSONText(trusted: Array(settings.utf8)))))
        #expect(await worker.process.waitForEnd() == .exited(78))
        let ports = "write port numbers from 1 to 65535"
        #expect(
            try worker.messages == [
                .refused([
                    SettingRefusal(key: "network.ports", entry: 1, message: #"contains "0"; \#(ports)"#),
                    SettingRefusal(key: "network.ports", entry: 2, message: #"contains "x"; \#(ports)"#),
                    SettingRefusal(
                        key: "unfurl.timeout",
                        message: #"is "soon"; write a number with a unit (ms, s, m, h, d) from 100ms to 1h"#),
                    SettingRefusal(
                        key: "enrich.max_size", message: "is neither a text nor a list of texts; write it in quotes"),
                    SettingRefusal(key: "network.allow", message: "takes a list; write [a, b] or []"),
                    SettingRefusal(
                        key: "slots", message: "is unknown; install the same release of halyardd and halyard-worker"),
                    SettingRefusal(
                        key: "network.authorities",
                        message:
                            "names /nowhere/ca.pem, which cannot be read (No such file or directory); write the path of a file with certificates (PEM)",
                        errorNumber: 2),
                ])
            ])
    }

    @Test func aFileWithoutCertificatesIsRefusedForGood() async throws {
        try await Self.withFolder { folder in
            try "no certificate".write(toFile: folder + "/ca.pem", atomically: true, encoding: .utf8)
            let worker = try RunningWorker("halyard-worker")
            let settings = JSONText(trusted: Array(#"{"network.authorities":"\#(folder)/ca.pem"}"#.utf8))
            worker.send(.hello(Hello(version: "test", settings: settings)))
            #expect(await worker.process.waitForEnd() == .exited(78))
            let message =
                "names \(folder)/ca.pem, which contains no readable certificates; write the path of a file with certificates (PEM)"
            #expect(
                try worker.messages == [.refused([SettingRefusal(key: "network.authorities", message: message)])])
        }
    }

    @Test func foldersThatCannotBeUsedAreWarnings() async throws {
        try await Self.withFolder { folder in
            try "a\nexample.org b\n".write(toFile: folder + "/list", atomically: true, encoding: .utf8)
            let settings =
                #"{"upload.roots":["\#(folder)","\#(folder)/none"],"upload.credentials":"\#(folder)/list","unfurl.tracking_list":"\#(folder)/list"}"#
            try await RunningWorker.with("halyard-worker", settings: JSONText(trusted: Array(settings.utf8))) {
                worker in
                guard case .kinds(let announcement) = try #require(try worker.messages.first) else {
                    Issue.record("the first message is another one")
                    return
                }
                #expect(
                    announcement.warnings == [
                        "upload.roots: \(folder)/none cannot be accessed (No such file or directory); nothing in it can be sent until that is fixed",
                        "upload.credentials: \(folder)/list is not a folder; jobs that use a credential fail until that is fixed",
                        "unfurl.tracking_list: 2 rules loaded, 0 skipped that contain more than a name and a host",
                    ])
            }
        }
    }

    // MARK: Helpers

    private static func withWorker(
        reaching server: LoopbackServer, _ more: String? = nil, _ body: (RunningWorker) async throws -> Void
    ) async throws {
        let settings =
            #"{"network.allow":["127.0.0.1:\#(server.port)"]\#(more.map { "," + $0 } ?? "")}"#
        try await RunningWorker.with("halyard-worker", settings: JSONText(trusted: Array(settings.utf8)), body)
    }

    private static func output(of end: WorkerMessage) -> JSONObject? {
        guard case .succeeded(_, let output, _) = end else {
            Issue.record("the attempt failed: \(end)")
            return nil
        }
        return JSONObject(output)
    }

    /// Returns the names of the child processes.
    private static func children(of pid: pid_t) throws -> [String] {
        let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
        return try tasks.flatMap { task in
            try String(contentsOfFile: "/proc/\(pid)/task/\(task)/children", encoding: .utf8).split(separator: " ")
        }.map { child in
            try String(contentsOfFile: "/proc/\(child)/comm", encoding: .utf8).split(separator: "\n").joined()
        }
    }

    private static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/halyard-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Losing the error is harmless: the folder stays in the temporary folder.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }
}
