import ArgumentParser
import ControlProtocol
import Jobs
import Stores
import Synchronization

extension Halyard {
    struct Move: Verb {
        static let configuration = CommandConfiguration.ofDirectVerb(
            commandName: "move", abstract: "Move all jobs from an SQLite file to a PostgreSQL server, or back.",
            discussion: """
                Stop the daemons first. Everything is kept with its numbers: jobs of all states, results, attempts, graphs, idempotency \
                keys, definitions, queues, schedules and checkpoints. Then both databases are read again and compared. \
                After that, the old one refuses daemons and commands and names the new one. The command prints the line \
                of the configuration to change.

                The new database must be empty; the command creates the file or the schema, and replaces its queues. If the command \
                is interrupted, repeat it. Until the copy is complete, the old database is unchanged. To go back, move the jobs \
                in the other direction. The former database is set aside, not deleted.

                Run it on the machine with the file, as the daemon's user. The files of jobs (logs, results, sent files) stay in their \
                folders; the daemon that uses the server's database on this machine has them, and runs the jobs that need them. \
                A password comes from --password-file, PGPASSFILE or ~/.pgpass.

                halyard move --from /var/lib/halyard/halyard.db --to postgresql://halyard@db.example/jobs

                EXIT CODES
                   64  The options are wrong, or both databases are of the same kind.
                   65  The move was refused: the new database has jobs, the old one was moved, or files belong to other daemons.
                   66  There is no such database.
                   69  The server does not answer.
                   70  The copy differs from the old database, which is unchanged. Please report this.
                   74  Reading or writing failed.
                   75  A daemon or another command uses one of the databases.
                   77  This user may not use the file, or the role lacks a permission on the server.
                """)

        @Option(help: ArgumentHelp("The database that has the jobs: a path or a URL.", valueName: "database"))
        var from: String

        @Option(help: ArgumentHelp("The database to move them to: a URL or a path.", valueName: "database"))
        var to: String

        @Option(
            help: ArgumentHelp(
                "The home of the daemon that uses the server's database (default: postgresql, next to the file).",
                valueName: "folder"),
            completion: .directory)
        var home: String?

        @Option(
            help: ArgumentHelp("A file with the password for the server.", valueName: "path"), completion: .file())
        var passwordFile: String?

        @Flag(help: "All daemons will share the spool: spool.shared in the configuration.")
        var sharedSpool = false

        @Flag(help: "Move jobs to a file although other daemons have their files.")
        var withoutFiles = false

        @Flag(help: "Print what would be moved, and change nothing.")
        var dryRun = false

        @Flag(help: "Print JSON.")
        var json = false

        func run(in surroundings: Surroundings) async throws -> ExitCode {
            let source = try address(from, "--from")
            let target = try address(to, "--to")
            var options = DatabaseMove.Options()
            options.home = home
            options.passwordFile = passwordFile
            options.sharesSpool = sharedSpool
            options.leavesFiles = withoutFiles
            let start = ContinuousClock.now
            let move: DatabaseMove
            let report: MoveReport
            do throws(DatabaseMoveFailure) {
                move = try DatabaseMove(from: source, to: target, options: options)
                if dryRun {
                    report = try await move.preview()
                } else {
                    let live = LiveProgress(surroundings.errors, isJSON: json)
                    report = try await move.run { live.show($0) }
                    live.end()
                }
            } catch {
                throw CommandFailure(error)
            }
            let rendering = MoveText(
                report, move, from: source, to: target, isDryRun: dryRun,
                seconds: (ContinuousClock.now - start) / .seconds(1))
            if json {
                try surroundings.output.json(rendering.json)
            } else {
                try rendering.print(on: surroundings.output)
            }
            return .success
        }

        private func address(_ text: String, _ option: String) throws -> DatabaseAddress {
            do throws(DatabaseAddressProblem) {
                return try DatabaseAddress(text)
            } catch {
                throw CommandFailure(.usage, "\(option): \(error).")
            }
        }
    }
}

/// Shows the progress of a move on a terminal.
private final class LiveProgress: Sendable {
    private struct State {
        var block: LiveBlock
        var drawnAt: ContinuousClock.Instant?
    }

    private let isShown: Bool
    private let state: Mutex<State>

    init(_ output: Output, isJSON: Bool) {
        isShown = output.isTerminal && !isJSON
        state = Mutex(State(block: LiveBlock(output)))
    }

    func show(_ progress: MoveProgress) {
        guard isShown else { return }
        state.withLock { state in
            let now = ContinuousClock.now
            if let last = state.drawnAt, now - last < .milliseconds(100) { return }
            state.drawnAt = now
            let step = progress.isComparing ? "comparing" : "copying"
            // A terminal that was closed must not end the move.
            try? state.block.draw(
                ["\(step) \(progress.table): \(AmountText.grouped(Int64(progress.rows)))"], below: [])
        }
    }

    func end() {
        guard isShown else { return }
        // A closed terminal must not matter here either.
        state.withLock { try? $0.block.draw([], below: []) }
    }
}

extension CommandFailure {
    fileprivate init(_ failure: DatabaseMoveFailure) {
        let exit: ExitCode =
            switch failure.cause {
            case .wrong: .usage
            case .refused: .data
            case .missing: .noInput
            case .passing: .temporary
            case .unreachable: .unavailable
            case .permission: .permission
            case .inputOutput: .inputOutput
            case .different: .software
            }
        self.init(exit, failure.description, details: failure.details)
    }
}
