import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Reload: SessionVerb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "reload",
            abstract: "Reload the daemon's configuration; if any of it is invalid, nothing changes.",
            discussion: """
                If a setting that changed needs a restart, nothing changes either, and the message names the setting. The reload \
                is carried out if a worker whose settings did not change cannot run now: its running processes are kept, the \
                message says why it cannot run, and the exit code is 69.

                The daemon starts all worker programs at the same time to learn their kinds, and waits up to 20 \
                seconds for them. A message names each worker that it waits for.
                """)

        @OptionGroup var common: CommonOptions

        func run(in session: Session) async throws -> ExitCode {
            try await session.requireDaemon("Reloading")
            let report = try await Self.reload(session)
            var answer = JSONObject()
            answer["reloaded"] = JSONText(boolean: true)
            if !report.problems.isEmpty {
                answer["problems"] = JSONWriter.text { $0.array(report.problems) { $1.string($0) } }
            }
            try session.print(answer.text) { _ in
                try session.note("the daemon has reloaded")
                for problem in report.problems { try session.note("\(problem)") }
            }
            return report.problems.isEmpty ? .success : .unavailable
        }

        /// Reloads, and meanwhile reports the workers that the daemon waits for.
        private static func reload(_ session: Session) async throws -> ReloadReport {
            try await withThrowingTaskGroup(of: ReloadReport?.self) { group in
                group.addTask { try await session.control.reload() }
                if !session.isJSON {
                    group.addTask {
                        try await noteWaits(session)
                        return nil
                    }
                }
                defer { group.cancelAll() }
                while let result = try await group.next() { if let result { return result } }
                throw CancellationError()
            }
        }

        /// Prints a note about each worker that has not introduced itself yet, until the task is cancelled.
        private static func noteWaits(_ session: Session) async throws {
            var noted: Set<String> = []
            do {
                while true {
                    // The daemon gives no signal when a reload begins to wait. Most reloads end before the first look.
                    try await Task.sleep(for: .milliseconds(500), clock: .continuous)
                    for worker in try await session.control.workers() {
                        guard let until = worker.checkedUntil, noted.insert(worker.name).inserted else { continue }
                        // Rounds up to a whole second.
                        let rest = max(until - session.now, .zero) + .milliseconds(999)
                        try session.note(
                            "waiting up to \(TimeText.coarse(rest)) for worker \(worker.name) to introduce itself")
                    }
                }
            } catch is CancellationError {
                return
            } catch is ControlProblem {
                // The reload itself reports why the daemon does not answer.
                return
            } catch {
                // Nobody reads the notes. The reload goes on without them.
                return
            }
        }
    }
}
