import Jobs
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

extension WorkerSet {
    /// The entries of `daemon.kinds` that neither a worker nor the daemon itself can run. Empty if a worker cannot run,
    /// since its kinds are unknown.
    func unknownKinds(in configuration: DaemonConfiguration, _ registry: KindRegistry) -> [WorkerRefusal] {
        guard builtInFault == nil, faults(of: configuration).isEmpty, refusals(of: configuration).isEmpty else {
            return []
        }
        let known = registry.descriptions.map(\.name)
        let key = "daemon.kinds"
        return configuration.daemonKinds.enumerated().filter { !known.contains($0.element) }.map { index, kind in
            let problem = NearestName.unknown(
                "kind", kind, among: known, listing: "the kinds of this daemon and its workers are")
            return WorkerRefusal(sentence: "\(configuration.places.place(of: key, entry: index)): \(key): \(problem)")
        }
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
