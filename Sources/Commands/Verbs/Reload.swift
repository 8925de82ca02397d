import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Reload: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "reload",
            abstract: "Reload the daemon's configuration; if any of it is invalid, nothing changes.")

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            try session.requireDaemon("Reloading")
            try await session.control.reload()
            var answer = JSONObject()
            answer["reloaded"] = JSONText(boolean: true)
            try session.print(answer.text) { _ in try session.note("the daemon has reloaded") }
            return .success
        }
    }
}
