import ControlProtocol
import Jobs
import Logging
import WorkerProtocol
import Workers

/// The worker programs of a daemon, and the kinds that they run.
struct WorkerSet: Sendable {
    let builtIn: WorkerHost
    private let answer: Answer

    /// How the built-in worker answered at the start.
    private enum Answer {
        case kinds(Announcement)
        case refused([SettingRefusal])
        case unusable(String)
    }

    /// Starts the built-in worker and asks for its kinds.
    init(_ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings) async {
        builtIn = WorkerHost(
            configuration.builtInWorker(in: surroundings), version: Version.current, groups: surroundings.groups,
            logger: surroundings.logger)
        do throws(WorkerProblem) {
            answer = .kinds(try await builtIn.introduce())
        } catch {
            switch error {
            case .refused(let refusals): answer = .refused(refusals)
            case .unusable(let reason): answer = .unusable(reason)
            }
        }
    }

    /// The settings that a worker refuses; empty if it accepts all, or cannot run now.
    var refusals: [SettingRefusal] {
        if case .refused(let refusals) = answer { return refusals }
        return []
    }

    /// The reason why the built-in worker cannot run now, which follows its name; nil if it can.
    var reason: String? {
        if case .unusable(let reason) = answer { return reason }
        return nil
    }

    /// Findings about settings that do not prevent a start.
    var warnings: [String] { announcement?.warnings ?? [] }

    private var announcement: Announcement? {
        if case .kinds(let announcement) = answer { return announcement }
        return nil
    }

    /// The kinds of the worker programs and those of this process.
    ///
    /// - Parameter known: The kinds that the store knows from an earlier start. They stand in for those of a worker that
    ///   cannot run now, so that their jobs wait until it can.
    func registry(
        with own: [any Kind], known: [KindDescription] = []
    ) throws(KindRegistryProblem) -> KindRegistry {
        let names = own.map { type(of: $0).name }
        let hosted = announcement?.kinds.map(\.description) ?? known.filter { !names.contains($0.name) }
        return try KindRegistry(
            runnable: hosted.map { RunnableKind($0, hostedBy: builtIn) } + own.map { RunnableKind($0) })
    }

    /// Checks the settings of a new configuration.
    ///
    /// - Throws: ``ConfigurationProblem`` if a worker refuses them. One that cannot run now is not asked.
    func check(
        _ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings
    ) async throws(ConfigurationProblem) {
        do throws(WorkerProblem) {
            let announcement = try await builtIn.check(configuration.builtInWorker(in: surroundings))
            for warning in announcement.warnings { surroundings.logger.warning("\(warning)") }
        } catch {
            if case .refused(let refusals) = error {
                throw ConfigurationProblem(refusals.map(configuration.sentence))
            }
        }
    }

    /// Uses the settings of a new configuration for all attempts that begin later.
    func use(_ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings) {
        builtIn.use(configuration.builtInWorker(in: surroundings))
    }

    /// Ends all processes of the programs.
    func close() async { await builtIn.close() }
}

extension DaemonConfiguration {
    /// A worker's refusal, with the place where its setting comes from.
    func sentence(_ refusal: SettingRefusal) -> String {
        "\(places.place(of: refusal.key, entry: refusal.entry)): \(refusal.key) \(refusal.message)"
    }
}
