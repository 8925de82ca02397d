import ArgumentParser
import Control
import Jobs

extension Halyard {
    struct Cancel: Verb {
        static let configuration = CommandConfiguration(
            commandName: "cancel", abstract: "Cancel jobs or whole graphs.",
            discussion: """
                A job that has not started never will; a running one is told, and ends soon. Jobs that wait for a cancelled \
                one follow the condition of their dependency.
                """)

        @Argument(help: ArgumentHelp("A job's number, or graph:NUMBER.", valueName: "job"))
        var work: [WorkArgument]

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            try await Session.with(common, for: .writing, in: surroundings) { session in
                var answers: [CancelAnswer] = []
                let jobs = work.compactMap { if case .job(let id) = $0 { id } else { nil } }
                if !jobs.isEmpty { answers += try await session.control.cancel(.jobs(jobs)) }
                for case .graph(let id) in work { answers += try await session.control.cancel(.graph(id)) }
                if common.json {
                    try surroundings.output.json(answers.json)
                } else {
                    for answer in answers { try surroundings.output.line(Self.line(answer)) }
                    if answers.isEmpty { try surroundings.note("nothing to cancel: every job is final") }
                }
                if answers.contains(where: { $0.result == .cancelled || $0.result == .requested }) {
                    try session.noteWritten(in: surroundings)
                }
                return answers.contains { $0.result == .unknown } ? .noInput : .success
            }
        }

        private static func line(_ answer: CancelAnswer) -> StyledText {
            switch answer.result {
            case .cancelled: "\(answer.job)  " + JobState.cancelled.text
            case .requested: "\(answer.job)  runs; asked to stop"
            case .alreadyFinal(let outcome): "\(answer.job)  was already " + outcome.state.text
            case .unknown: "\(answer.job)  \("does not exist", .red)"
            }
        }
    }
}
