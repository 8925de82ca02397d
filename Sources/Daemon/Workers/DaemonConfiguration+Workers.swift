import Jobs
import Settings
import Workers

extension DaemonConfiguration {
    /// The built-in worker, which runs `upload`, `unfurl` and `enrich`.
    func builtInWorker(in surroundings: DaemonSurroundings) -> WorkerProgram {
        var environment = surroundings.workerEnvironment
        // Otherwise each crash would start a second process that writes a trace, which takes seconds.
        environment["SWIFT_BACKTRACE"] = "enable=no"
        return WorkerProgram(
            name: "halyard-worker", command: [surroundings.builtInWorker], attempts: slots,
            settings: settingsOfBuiltInWorker, environment: environment)
    }

    /// The settings that the administrator gave, and those that follow from the daemon's own.
    private var settingsOfBuiltInWorker: JSONText {
        var texts = workerSettings
        texts["spool.directory"] = .scalar(spoolDirectory)
        texts["upload.checkpoints"] = .scalar(checkpointDirectory)
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
