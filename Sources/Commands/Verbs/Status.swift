import ArgumentParser
import Control

extension Halyard {
    struct Status: Verb {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Tell how the daemon is doing.")

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            let report = try await Session.with(common, for: .reading, in: surroundings) {
                try await $0.control.status()
            }
            if common.json {
                try surroundings.output.json(report.json)
            } else {
                try StatusPage.write(report, now: surroundings.now(), to: surroundings.output)
            }
            return .success
        }
    }
}
