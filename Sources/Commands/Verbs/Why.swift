import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Why: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "why",
            abstract: "Show why a job is not running: the dependency, pause, limit or time it waits for.")

        @Argument(help: "The job's number.", completion: .names(.openJobs), transform: JobID.read)
        var job: JobID

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            var explanation = try await session.control.why(job)
            var start = ""
            if case .database(let offline) = session.backend {
                start = offline.start
                // A daemon runs but was not reached.
                if offline.daemon != nil { explanation.reasons.removeAll { $0 == .noDaemon } }
            }
            try session.print(explanation) { output in
                let lines = WaitText.lines(explanation, start: start, now: session.now)
                for line in lines { try output.line(line) }
            }
            // The reasons already say that no daemon runs.
            if explanation.state == .running { try await session.noteOpen(try await session.control.job(job).job) }
            return .success
        }
    }
}
