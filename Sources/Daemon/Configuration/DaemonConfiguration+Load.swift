import ControlProtocol
import Glibc
import Jobs
import Settings
import Systemd

/// The sources of a configuration, which a reload reads again.
public struct ConfigurationSources: Sendable {
    /// The configuration file; nil for the default file, which may be missing.
    public var file: String?
    /// The flags by key. They override all other sources.
    public var flags: [String: String]
    /// The environment; only variables that begin with `HALYARD_` are used.
    public var environment: [String: String]
    /// The values that systemd passed to the service. Its directories replace some defaults.
    public var service: ServiceEnvironment

    /// Creates sources. Without arguments, only the default file is read.
    public init(
        file: String? = nil, flags: [String: String] = [:], environment: [String: String] = [:],
        service: ServiceEnvironment = ServiceEnvironment()
    ) {
        self.file = file
        self.flags = flags
        self.environment = environment
        self.service = service
    }

    var standardFile: String {
        service.configurationDirectory.map { $0 + "/halyard.yaml" } ?? StandardPaths.configuration
    }
}

extension DaemonConfiguration {
    /// Reads the whole configuration. Flags override the environment, which overrides the file, which overrides
    /// the defaults.
    ///
    /// - Throws: ``ConfigurationProblem`` with every problem found, not only the first. If
    ///   ``ConfigurationProblem/transientCode`` is set, a later call may succeed.
    public static func load(_ sources: ConfigurationSources) throws(ConfigurationProblem) -> DaemonConfiguration {
        let (configuration, problems) = try read(sources)
        guard problems.isEmpty else { throw ConfigurationProblem(problems) }
        return configuration
    }

    /// Reads the whole configuration, and leaves out the settings that have a problem.
    ///
    /// - Throws: ``ConfigurationProblem`` if the file cannot be read.
    static func read(
        _ sources: ConfigurationSources
    ) throws(ConfigurationProblem) -> (DaemonConfiguration, problems: [String]) {
        let file = try readFile(sources)
        var problems = file.problems
        for key in sources.flags.keys.sorted() where !DaemonSetting.all.contains(where: { $0.key == key }) {
            problems.append("--set: " + NearestName.unknown("key", key, among: DaemonSetting.all.map(\.key)))
        }

        var configuration = DaemonConfiguration(sources.service)
        configuration.places = SettingPlaces(sources, file)
        configuration.workers = file.workers
        for setting in DaemonSetting.all {
            guard let text = text(of: setting, in: sources, file) else { continue }
            do throws(SettingProblem) {
                try setting.apply(text, &configuration)
            } catch {
                for (entry, reason) in error.reasons {
                    problems.append(
                        "\(configuration.places.place(of: setting.key, entry: entry)): \(setting.key) \(reason)")
                }
            }
        }
        // Two entries on the same line may have the same problem.
        var seen: Set<String> = []
        return (configuration, problems.filter { seen.insert($0).inserted })
    }

    /// Returns a warning for each variable that begins with `HALYARD_` but sets nothing. It is not an error,
    /// since another program may use the variable.
    static func unknownVariables(in environment: [String: String]) -> [String] {
        let known =
            DaemonSetting.all.map(\.variable) + [StandardPaths.Variable.configuration, ServiceEnvironment.bootVariable]
        return environment.keys.sorted().filter { $0.hasPrefix("HALYARD_") && !known.contains($0) }.map { name in
            NearestName.unknown("variable", name, among: known) + "; it is ignored"
        }
    }

    private static func readFile(_ sources: ConfigurationSources) throws(ConfigurationProblem) -> ConfigurationFile {
        let named = sources.file ?? sources.environment[StandardPaths.Variable.configuration]
        let path = named ?? sources.standardFile
        switch readText(path) {
        case .success(let text): return ConfigurationFile(path: path, text: text)
        case .failure(let failure):
            if named == nil, failure.code == ENOENT { return ConfigurationFile() }
            // A shortage is temporary; a wrong path or missing permission must be corrected.
            let isShortage = [EMFILE, ENFILE, ENOMEM, EIO].contains(failure.code)
            throw ConfigurationProblem([failure.description], transientCode: isShortage ? failure.code : nil)
        }
    }

    /// Returns the text of a setting in the first source that has it. Commas separate the entries of a list on the command
    /// line and in the environment. The file may contain a list instead of a single value, or the reverse, so that its
    /// setting can refuse it with its line number.
    private static func text(
        of setting: DaemonSetting, in sources: ConfigurationSources, _ file: ConfigurationFile
    ) -> SettingText? {
        guard let text = sources.flags[setting.key] ?? sources.environment[setting.variable] else {
            return file.values[setting.key]?.text
        }
        if !setting.isList { return .scalar(text) }
        return .list(text.split(separator: ",").map(trimmed).filter { !$0.isEmpty })
    }

    private static func trimmed(_ text: Substring) -> String {
        guard let first = text.firstIndex(where: { !$0.isWhitespace }),
            let last = text.lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(text[first...last])
    }
}
