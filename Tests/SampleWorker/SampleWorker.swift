import Jobs
import OperationTypes
import Worker
import WorkerProtocol

/// A worker for tests. With the argument `settings`, its kinds depend on the setting `sample.mode`.
@main struct SampleWorker {
    static let kinds: [any Kind] = [Act(), Echo(), Join(), Picky(), Keeper()]

    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "settings":
            await WorkerCommand.run { hello throws(RefusedSettings) in
                let mode = JSONObject(hello.settings)?["sample.mode"]?.decodedString ?? ""
                guard mode == "good" else {
                    throw RefusedSettings([
                        SettingRefusal(key: "sample.mode", message: #"is "\#(mode)"; write good"#)
                    ])
                }
                return WorkerKinds([Echo()], warnings: ["sample.mode is good for \(hello.attempts) attempts"])
            }
        case "hostile": await WorkerCommand.run([Harm(), Echo()])
        case "duplicate": await WorkerCommand.run([Echo(), Echo()])
        default: await WorkerCommand.run(kinds, version: "1.0")
        }
    }
}
