import WorkerProtocol
import Workers

/// The reason why the configuration of a worker cannot be used, as a sentence that begins with its place.
struct WorkerRefusal: Sendable, Hashable {
    var sentence: String
    /// The `errno` behind it; nil if there is none.
    var errorNumber: Int32?
}

extension DaemonConfiguration {
    /// A worker's refusal of a setting, with the place where the setting comes from.
    func sentence(_ refusal: SettingRefusal, by worker: String = Worker.builtInName) -> String {
        if worker == Worker.builtInName {
            return "\(places.place(of: refusal.key, entry: refusal.entry)): \(refusal.key) \(refusal.message)"
        }
        let place = places.place(ofWorker: worker, setting: refusal.key, entry: refusal.entry)
        return "\(place): workers.\(worker): its setting \(refusal.key) \(refusal.message)"
    }

    /// A sentence about a worker of the administrator, with the place of its name.
    ///
    /// - Parameter clause: A clause that follows the name.
    func sentence(about worker: String, _ clause: String) -> String {
        "\(places.place(ofWorker: worker)): workers.\(worker) \(clause)"
    }
}

extension WorkerSet.Answer {
    init(_ problem: WorkerProblem) {
        switch problem {
        case .refused(let refusals): self = .refused(refusals)
        case .unusable(let reason): self = .unusable(reason)
        }
    }
}
