import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Reload: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "reload",
            abstract: "Reload the daemon's configuration; if any of it is invalid, nothing changes.")

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .reading, in: surroundings) { session in
                try session.requireDaemon("Reloading")
                try await session.control.reload()
                if common.json {
                    var answer = JSONObject()
                    answer["reloaded"] = JSONText(boolean: true)
                    try surroundings.output.json(answer.text)
                } else {
                    try surroundings.note("the daemon has reloaded")
                }
                return .success
            }
        }
    }
}
