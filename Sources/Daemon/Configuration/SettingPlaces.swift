import Settings

/// Where the settings of a configuration come from, for messages about them.
struct SettingPlaces: Sendable {
    /// The keys that the command line sets.
    var flags: Set<String> = []
    /// The keys that the environment sets.
    var variables: Set<String> = []
    /// The path of the file.
    var path = ""
    /// The line of each key in the file, and the lines of the entries of a list.
    var lines: [String: (key: Int, entries: [Int])] = [:]

    init() {}

    init(_ sources: ConfigurationSources, _ file: ConfigurationFile) {
        flags = Set(sources.flags.keys)
        variables = Set(DaemonSetting.all.filter { sources.environment[$0.variable] != nil }.map(\.key))
        path = file.path
        lines = file.values.mapValues { ($0.line, $0.entryLines) }
        lines.merge(file.workerLines) { line, _ in line }
    }

    /// The place of a setting, or of one entry of its list.
    func place(of key: String, entry: Int? = nil) -> String {
        if flags.contains(key) { return "command line" }
        if variables.contains(key) { return DaemonSetting.variable(of: key) }
        guard let line = lines[key] else { return "\(path):1" }
        let own = entry.flatMap { line.entries.indices.contains($0) ? line.entries[$0] : nil }
        return "\(path):\(own ?? line.key)"
    }

    /// The place of a worker of the administrator, or of one of the settings for it.
    func place(ofWorker name: String, setting: String? = nil, entry: Int? = nil) -> String {
        let worker = "\(WorkersSection.key).\(name)"
        let setting = setting.map { "\(worker).settings.\($0)" }
        return place(of: setting.flatMap { lines[$0] == nil ? nil : $0 } ?? worker, entry: entry)
    }
}
