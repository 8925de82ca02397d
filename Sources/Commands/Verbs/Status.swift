import ArgumentParser
import ControlProtocol
import Stores

extension Halyard {
    struct Status: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "status", abstract: "Show the state of the daemon.",
            discussion: """
                The state is running, recovering or draining if the daemon answers, stopped if none runs, and unreachable if a \
                daemon holds the database but does not answer: it is starting or stopping, or it listens on another socket. \
                With --database URL, running means that at least one daemon of the database runs.
                """)

        @OptionGroup var common: CommonOptions

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            // A daemon that recovers already listens, but answers only when it is ready.
            let connector = Connector(common, surroundings, timeout: surroundings.statusPatience)
            let session = try await connector.open(.reading)
            let report: StatusReport
            do {
                report = try await Self.report(session)
            } catch let problem as ControlProblem where problem.code == .unavailable {
                report = try await Self.report(try await connector.openDatabase(insteadOf: problem))
            }
            if common.json {
                try surroundings.output.json(report.json)
            } else {
                try StatusPage.write(report, now: surroundings.now(), to: surroundings.output)
            }
            return .success
        }

        private static func report(_ session: Session) async throws -> StatusReport {
            var report: StatusReport
            do {
                report = try await session.control.status()
            } catch {
                await session.close()
                throw error
            }
            await session.close()
            guard case .database(let offline) = session.backend, let daemon = offline.daemon else { return report }
            report.state = .unreachable
            report.pid = offline.holder?.pid
            report.problems.append(daemon)
            return report
        }
    }
}
