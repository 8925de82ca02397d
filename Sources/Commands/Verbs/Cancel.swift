import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Cancel: WritingVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "cancel", abstract: "Cancel jobs or whole graphs.",
            discussion: """
                A job that has not started never starts; a running job is asked to stop and ends soon. Jobs that depend on a \
                cancelled job follow the condition of that dependency. Jobs named in one command are cancelled together: \
                none of them starts or is skipped because of another.
                """)

        @Argument(
            help: ArgumentHelp("A job's number, or graph:NUMBER.", valueName: "job"), completion: .names(.openJobs),
            transform: WorkArgument.read)
        var work: [WorkArgument]

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            let jobs = work.compactMap(\.job)
            // Cancel the jobs together, so that none starts or is skipped because of another.
            var ofJobs = jobs.isEmpty ? [] : try await session.control.cancel(.jobs(jobs))[...]
            var answers: [CancelAnswer] = []
            var failure: ControlProblem?
            var continues = true
            // Without a daemon, an interrupted job becomes cancelled only when the next daemon starts.
            let start = try await session.startOfMissingDaemon()
            func fail(_ problem: ControlProblem) {
                if failure == nil { failure = problem } else { failure?.details.append(problem.message) }
            }
            for piece in work {
                let given: [CancelAnswer]
                switch piece {
                case .job:
                    given = Array(ofJobs.prefix(1))
                    ofJobs = ofJobs.dropFirst()
                case .graph(let id):
                    guard continues else { continue }
                    do throws(ControlProblem) {
                        given = try await session.control.cancel(.graph(id))
                    } catch {
                        fail(error)
                        // A graph that does not exist does not prevent cancelling the others.
                        continues = error.code == .notFound
                        continue
                    }
                }
                answers += given
                for answer in given where answer.result == .unknown { fail(.noJob(answer.job)) }
                if session.isJSON { continue }
                for answer in given {
                    if let line = Self.line(answer, hasDaemon: start == nil) { try session.output.line(line) }
                }
                if given.isEmpty {
                    try session.output.line("\(piece.name)  nothing to cancel: every job is final")
                }
            }
            if session.isJSON { try session.output.json(answers.json) }
            if answers.contains(where: { $0.result == .cancelled || $0.result == .requested }) {
                try await session.noteWritten()
            }
            if let start, answers.contains(where: { $0.result == .requested }) { try session.note("\(start)") }
            if let failure { throw failure }
            return .success
        }

        /// Returns nil for a job that does not exist, which is reported as a failure.
        private static func line(_ answer: CancelAnswer, hasDaemon: Bool) -> StyledText? {
            switch answer.result {
            case .cancelled: "\(answer.job)  " + JobState.cancelled.text
            case .requested:
                hasDaemon
                    ? "\(answer.job)  is running; asked to stop"
                    : "\(answer.job)  was interrupted; it will be cancelled when a daemon starts"
            case .alreadyFinal(let outcome): "\(answer.job)  was already " + outcome.state.text
            case .unknown: nil
            }
        }
    }
}
