import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct PrintResult: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "result", abstract: "Print the result of a job.",
            discussion: """
                Prints the value to standard output as JSON, or the failure to standard error. The exit code is the outcome: \
                0 succeeded, 1 failed, 2 cancelled, 3 skipped, 4 not final. With 4, standard output stays empty; with --json, \
                the problem is printed to standard error as JSON.

                With --file, a result that is a file is written there, completely or not at all, after its SHA-256 was checked. \
                The exit code is 66 if the result is not a file.
                """)

        @Argument(help: "The job's number.", completion: .names(.finishedJobs), transform: JobID.read)
        var job: JobID

        @Option(
            help: ArgumentHelp("Write the job's file to this path; - is standard output.", valueName: "path"),
            completion: .file())
        var file: String?

        @Flag(help: "With --file, replace an existing file.")
        var force = false

        @OptionGroup var common: CommonOptions

        func validate() throws {
            if force, file == nil { throw ValidationError("--force needs --file. Add it, or omit --force.") }
        }

        func run(in session: Session) async throws -> ExitCode {
            guard let result = try await session.control.result(job) else {
                throw try await open(session)
            }
            if let file, result.outcome == .succeeded {
                try await write(to: file, session)
                return .success
            }
            try session.print(result) { output in
                switch result.value {
                case .succeeded(let value): try output.json(value)
                case .ended(let outcome, let failure):
                    try session.note("job \(job) \(outcome.name, outcome.state.style): " + failure.text)
                }
            }
            return ExitCode(states: [result.outcome.state])
        }

        /// The failure for a job that is not final. Without a daemon, it says what will happen to the job.
        private func open(_ session: Session) async throws -> CommandFailure {
            if let start = try await session.startOfMissingDaemon() {
                let record = try await session.control.job(job).job
                let next =
                    switch (record.state, record.cancelRequestedAt) {
                    case (.running, nil): "The job was interrupted and will run again when a daemon starts."
                    case (.running, _): "The job was interrupted and will be cancelled when a daemon starts."
                    default: "The job will not run until a daemon starts."
                    }
                return CommandFailure(.jobOpen, "Job \(job) is not final yet, and no daemon runs. \(next) \(start)")
            }
            if case .database(let offline) = session.backend, let daemon = offline.daemon {
                return CommandFailure(.jobOpen, "Job \(job) is not final yet; \(daemon).")
            }
            return CommandFailure(.jobOpen, "Job \(job) is not final yet. Wait for it with: halyard wait \(job)")
        }

        private func write(to path: String, _ session: Session) async throws {
            guard path != "-" else {
                let content = try await session.control.file(of: job)
                try await content.copy { try session.output.write(bytes: $0) }
                return
            }
            let target = try FileTarget(path, replaces: force)
            let content = try await session.control.file(of: job)
            let draft = try FileDraft(for: target)
            try await content.copy { try draft.write($0) }
            try draft.publish()
            if session.isJSON { try session.output.json(content.file.json) }
        }
    }
}
