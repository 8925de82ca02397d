import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Why: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "why",
            abstract: "Show why a job is not running: the dependency, pause, limit or time it waits for.")

        @Argument(help: "The job's number.", completion: .names(.openJobs), transform: JobID.read)
        var job: JobID

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .reading, in: surroundings) { session in
                var explanation = try await session.control.why(job)
                var start = ""
                if case .database(let offline) = session.place {
                    start = offline.start
                    // A daemon runs but was not reached.
                    if offline.daemon != nil { explanation.reasons.removeAll { $0 == .noDaemon } }
                }
                if common.json {
                    try surroundings.output.json(explanation.json)
                } else {
                    let lines = WaitText.lines(explanation, start: start, now: surroundings.now())
                    for line in lines { try surroundings.output.line(line) }
                }
                try session.noteRunning([explanation.state], in: surroundings)
                return .success
            }
        }
    }
}
