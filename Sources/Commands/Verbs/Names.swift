import ArgumentParser
import Client
import ControlProtocol
import Glibc
import Jobs

extension Halyard {
    /// Prints names and numbers, one per line, for a shell that completes a command. The help does not show
    /// this verb.
    ///
    /// It prints no messages, starts no daemon and reads no database. If no daemon answers within a second, it
    /// prints nothing.
    struct Names: Verb {
        enum Subject: String, CaseIterable, ExpressibleByArgument {
            case definitions
            case queues
            case schedules
            /// The newest graphs.
            case graphs
            /// The newest jobs.
            case jobs
            case openJobs = "open-jobs"
            case finishedJobs = "finished-jobs"
        }

        static let configuration = CommandConfiguration.ofDirectVerb(commandName: "names", shouldDisplay: false)
        /// A person chooses from what fits on a screen.
        private static let mostNumbers = 100

        @Argument var subject: Subject
        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            let paths = DefaultPaths(variable: surroundings.variable, exists: { access($0, F_OK) == 0 })
            let control = SocketControl(path: common.socket ?? paths.socket, timeout: .seconds(1))
            // The shell would show an error in the middle of the line that is being typed.
            for name in (try? await names(control)) ?? [] { try surroundings.output.line("\(name)") }
            return .success
        }

        private func names(_ control: SocketControl) async throws(ControlProblem) -> [String] {
            switch subject {
            case .definitions: return try await control.definitions().names.sorted()
            case .queues: return try await control.queues().map(\.settings.name)
            case .schedules: return try await control.schedules().map(\.schedule.name)
            case .graphs: return try await control.graphs(limit: Self.mostNumbers, before: nil).map { "\($0.id)" }
            case .jobs: return try await numbers(of: nil, control)
            case .openJobs: return try await numbers(of: JobState.allCases.filter { !$0.isFinal }, control)
            case .finishedJobs: return try await numbers(of: JobState.allCases.filter(\.isFinal), control)
            }
        }

        private func numbers(
            of states: [JobState]?, _ control: SocketControl
        ) async throws(ControlProblem) -> [String] {
            let filter = JobFilter(states: states.map(Swift.Set.init), limit: Self.mostNumbers, withInputs: false)
            return try await control.jobs(filter).map { "\($0.id)" }
        }
    }
}

extension CompletionKind {
    /// Completes with the names that the running daemon knows.
    static func names(_ subject: Halyard.Names.Subject) -> CompletionKind {
        .shellCommand("halyard names \(subject.rawValue) 2>/dev/null")
    }
}
