import Configuration
import ControlProtocol
import Glibc
import Jobs
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
        let file = try readFile(sources)
        var problems = file.problems
        for key in sources.flags.keys.sorted() where !Setting.all.contains(where: { $0.key == key }) {
            problems.append("--set: " + NearestName.unknown("key", key, among: Setting.all.map(\.key)))
        }

        // Commas separate the entries of a list, as in the environment.
        let flags = sources.flags.map { key, value -> (String, Setting.Text) in
            let isList = Setting.all.contains { $0.key == key && $0.isList }
            return (key, isList ? .list(value.split(separator: ",").map(String.init)) : .scalar(value))
        }
        let reader = ConfigReader(providers: [
            InMemoryProvider(name: "flags", values: values(flags)),
            EnvironmentVariablesProvider(environmentVariables: sources.environment).prefixKeys(with: "halyard"),
            InMemoryProvider(name: file.path, values: values(file.values.map { ($0, $1.text) })),
        ])
        var configuration = DaemonConfiguration(sources.service)
        for setting in Setting.all {
            guard let text = text(of: setting, in: reader) else { continue }
            do throws(Setting.Problem) {
                try setting.apply(text, &configuration)
            } catch {
                for (entry, reason) in error.reasons {
                    problems.append("\(place(of: setting, entry, sources, file)): \(setting.key) \(reason)")
                }
            }
        }
        guard problems.isEmpty else {
            // Two entries on the same line may have the same problem.
            var seen: Set<String> = []
            throw ConfigurationProblem(problems.filter { seen.insert($0).inserted })
        }
        return configuration
    }

    /// Returns a warning for each variable that begins with `HALYARD_` but sets nothing. It is not an error,
    /// since another program may use the variable.
    static func unknownVariables(in environment: [String: String]) -> [String] {
        let known = Setting.all.map(\.variable) + [StandardPaths.Variable.configuration]
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

    /// Returns a value of the wrong shape unchanged (a list instead of a single value, or the reverse), so that
    /// its setting can refuse it with its line number.
    private static func text(of setting: Setting, in reader: ConfigReader) -> Setting.Text? {
        let key = ConfigKey(setting.key.split(separator: ".").map(String.init))
        if setting.isList {
            if let list = reader.stringArray(forKey: key) { return .list(list) }
            return reader.string(forKey: key).map { .scalar($0) }
        }
        if let value = reader.string(forKey: key) { return .scalar(value) }
        return reader.stringArray(forKey: key).map { .list($0) }
    }

    private static func values(_ texts: [(String, Setting.Text)]) -> [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (key, text) in texts {
            let content: ConfigContent =
                switch text {
                case .scalar(let value): .string(value)
                case .list(let list): .stringArray(list)
                }
            values[AbsoluteConfigKey(key.split(separator: ".").map(String.init))] = ConfigValue(
                content, isSecret: false)
        }
        return values
    }

    private static func place(
        of setting: Setting, _ entry: Int?, _ sources: ConfigurationSources, _ file: ConfigurationFile
    ) -> String {
        if sources.flags[setting.key] != nil { return "command line" }
        if sources.environment[setting.variable] != nil { return setting.variable }
        guard let value = file.values[setting.key] else { return "\(file.path):1" }
        let line = entry.flatMap { value.entryLines.indices.contains($0) ? value.entryLines[$0] : nil }
        return "\(file.path):\(line ?? value.line)"
    }
}
