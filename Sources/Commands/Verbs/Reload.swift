import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Reload: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "reload",
            abstract: "Reload the daemon's configuration; if any of it is invalid, nothing changes.",
            discussion: """
                If a setting that changed needs a restart, nothing changes either, and the message names the setting. The reload \
                is carried out if a worker program that did not change cannot run now; the message says why it cannot.
                """)

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            try session.requireDaemon("Reloading")
            let report = try await session.control.reload()
            var answer = JSONObject()
            answer["reloaded"] = JSONText(boolean: true)
            if !report.problems.isEmpty {
                answer["problems"] = JSONWriter.text { $0.array(report.problems) { $1.string($0) } }
            }
            try session.print(answer.text) { _ in
                try session.note("the daemon has reloaded")
                for problem in report.problems { try session.note("\(problem)") }
            }
            return .success
        }
    }
}
