import Jobs
import ProgramKind
import Settings
import Workers

extension DaemonConfiguration {
    /// All worker programs: first the built-in one, then those of the administrator.
    func workerPrograms(in surroundings: DaemonSurroundings) -> [WorkerProgram] {
        [builtInWorker(in: surroundings)]
            + workers.map { worker in
                WorkerProgram(
                    name: worker.name, command: worker.command, processes: worker.processes, attempts: worker.attempts,
                    limits: worker.limits, settings: worker.settings,
                    environment: environment(in: surroundings).merging(worker.environment) { $1 })
            }
    }

    /// The environment of all workers.
    private func environment(in surroundings: DaemonSurroundings) -> [String: String] {
        var environment = surroundings.workerEnvironment
        // Otherwise each crash would start a second process that writes a trace, which takes seconds.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        return environment
    }

    /// The built-in worker, which runs `upload`, `unfurl` and `enrich`.
    private func builtInWorker(in surroundings: DaemonSurroundings) -> WorkerProgram {
        WorkerProgram(
            name: Worker.builtInName, command: [surroundings.builtInWorker], attempts: slots,
            settings: settingsOfBuiltInWorker, environment: environment(in: surroundings))
    }

    /// The settings of the kind `program`.
    var programs: ProgramSettings {
        ProgramSettings(roots: programRoots, folder: programDirectory, spool: spoolDirectory)
    }

    /// The settings that the administrator gave, and those that follow from the daemon's own.
    private var settingsOfBuiltInWorker: JSONText {
        var texts = workerSettings
        texts["spool.directory"] = .scalar(spoolDirectory)
        texts["upload.checkpoints"] = .scalar(checkpointDirectory)
        texts["files.directory"] = .scalar(filesDirectory)
        texts["upload.credentials"] = credentialFolder.map { .scalar($0) }
        return JSONWriter.text {
            $0.object { object in
                for (key, text) in texts.sorted(by: { $0.key < $1.key }) {
                    object.field(key) { writer in
                        switch text {
                        case .scalar(let value): writer.string(value)
                        case .list(let values): writer.array(values) { $1.string($0) }
                        }
                    }
                }
            }
        }
    }
}
