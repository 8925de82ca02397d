import Foundation
import Jobs
import RunningWorkers
import Testing
import WorkerConformance
import WorkerProtocol

/// The examples in `config/examples/workers`.
@Suite struct ExampleTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "config/examples/workers").path
    private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

    @Test(.enabled(if: hasPython)) func thePythonExampleFollowsTheProtocol() async {
        await expectConformance(
            of: "count-words.py", input: #"{"text":"a b"}"#, skipping: ["clean up"] + Self.ofCheckpoints)
    }

    @Test func theShellExampleFollowsTheProtocol() async {
        await expectConformance(of: "load.sh", input: "{}", skipping: ["check", "clean up"] + Self.ofCheckpoints)
    }

    @Test(.enabled(if: hasPython)) func thePythonExampleCountsWords() async throws {
        try await RunningWorker.with(command: [Self.folder + "/count-words.py"]) { worker in
            let counted = try await worker.run("count-words", #"{"text":"a bc\nd"}"#)
            let output = JSONText(trusted: Array(#"{"words":3,"lines":2}"#.utf8))
            #expect(counted == .succeeded(.first(of: 1), output: output, children: []))

            worker.send(.output(DependencyMessage(lease: .first(of: 2), kind: "other", output: JSONText(string: "e"))))
            let fromDependency = try await worker.run("count-words", "{}", job: 2)
            let one = JSONText(trusted: Array(#"{"words":1,"lines":1}"#.utf8))
            #expect(fromDependency == .succeeded(.first(of: 2), output: one, children: []))

            guard case .failed(_, let failed) = try await worker.run("count-words", "{}", job: 3) else {
                Issue.record("the attempt succeeded")
                return
            }
            #expect(failed.failure.code == "no_text")
        }
    }

    @Test func theShellExampleReturnsTheLoad() async throws {
        try await RunningWorker.with(command: [Self.folder + "/load.sh"]) { worker in
            guard case .succeeded(_, let output, _) = try await worker.run("load", "{}") else {
                Issue.record("the attempt failed")
                return
            }
            #expect(JSONObject(output)?["load"]?.double != nil)
        }
    }

    @Test(.enabled(if: hasPython)) func thePythonExampleResumesAtItsCheckpoint() async throws {
        let script = Self.folder + "/count-words.py"
        let input = #"{"paths":["\#(script)","/nowhere"]}"#
        await expectConformance(of: "count-words.py", kind: "count-files", input: input, skipping: ["clean up"])
        try await RunningWorker.with(command: [script]) { worker in
            worker.send(
                .run(
                    Run(
                        lease: .first(of: 1), kind: "count-files", input: JSONText(trusted: Array(input.utf8)),
                        checkpoint: JSONText(trusted: Array(#"{"done":2,"words":70}"#.utf8)))))
            // Neither file is read.
            let output = JSONText(trusted: Array(#"{"words":70,"files":2}"#.utf8))
            let end = try await worker.end(of: .first(of: 1))
            #expect(end == .succeeded(.first(of: 1), output: output, children: []))
            // It begins with the first file if the checkpoint is unusable.
            let unusable = [
                "null", "[]", #"{"done":2}"#, #"{"done":"2","words":70}"#, #"{"done":2,"words":true}"#,
                #"{"done":3,"words":70}"#, #"{"done":-1,"words":70}"#,
            ]
            for (number, checkpoint) in unusable.enumerated() {
                let lease = Lease.first(of: Int64(number + 2))
                worker.send(
                    .run(
                        Run(
                            lease: lease, kind: "count-files", input: JSONText(trusted: Array(input.utf8)),
                            checkpoint: JSONText(trusted: Array(checkpoint.utf8)))))
                try await worker.message { message in
                    if case .checkpoint(lease, id: 1, _) = message { true } else { false }
                }
                worker.send(.checkpointed(lease, id: 1))
                guard case .failed(_, let failed) = try await worker.end(of: lease) else {
                    Issue.record("it went on at \(checkpoint)")
                    continue
                }
                #expect(failed.failure.code == "unreadable", "\(checkpoint)")
            }
        }
    }

    /// The checks that a program without checkpoints skips.
    private static let ofCheckpoints = ["checkpoint", "refused checkpoint"]

    private func expectConformance(of name: String, kind: String? = nil, input: String, skipping: [String]) async {
        let results = await WorkerConformance(
            command: [Self.folder + "/" + name], kind: kind, input: JSONText(trusted: Array(input.utf8))
        ).results()
        #expect(results.filter { $0.verdict == .failed }.isEmpty)
        #expect(Set(results.filter { $0.verdict == .skipped }.map(\.name)) == Set(skipping))
    }
}
