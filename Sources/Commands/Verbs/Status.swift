import ArgumentParser
import ControlProtocol
import Jobs
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
            let (report, start): (StatusReport, String?)
            do {
                (report, start) = try await Self.report(session)
            } catch let problem as ControlProblem where problem.code == .unavailable {
                (report, start) = try await Self.report(try await connector.openDatabase(insteadOf: problem))
            }
            if common.json {
                try surroundings.output.json(report.json)
            } else {
                try StatusPage.write(report, now: surroundings.now(), to: surroundings.output)
            }
            if report.state == .stopped, let start {
                let isAnyRunning = report.counts[.running] > 0
                try surroundings.note(
                    "\(isAnyRunning ? Session.runningWithoutDaemon : "no daemon is running, so no job runs"). \(start)")
            }
            return .success
        }

        /// Returns the report and, if the database was read without a daemon, how to start one.
        private static func report(_ session: Session) async throws -> (StatusReport, start: String?) {
            var report: StatusReport
            do {
                report = try await session.control.status()
            } catch {
                await session.close()
                throw error
            }
            await session.close()
            guard case .database(let offline) = session.backend else { return (report, nil) }
            guard let daemon = offline.daemon else { return (report, offline.start) }
            report.state = .unreachable
            report.pid = offline.holder?.pid
            report.problems.append(daemon)
            return (report, nil)
        }
    }
}
