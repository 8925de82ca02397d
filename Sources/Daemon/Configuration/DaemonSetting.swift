import Settings

/// One key of the daemon's configuration.
typealias DaemonSetting = Setting<DaemonConfiguration>

extension DaemonConfiguration: Equatable {
    /// Whether all settings have the same values.
    public static func == (a: DaemonConfiguration, b: DaemonConfiguration) -> Bool {
        DaemonSetting.all.allSatisfy { $0.isSame(a, b) }
    }
}

extension DaemonSetting {
    /// The environment variable that sets the key.
    var variable: String { Self.variable(of: key) }

    /// The environment variable that sets a key.
    static func variable(of key: String) -> String {
        "HALYARD_" + key.map { $0 == "." ? "_" : $0.uppercased() }.joined()
    }

    /// The programs under `workers`, which only the file can name.
    static var workers: DaemonSetting {
        DaemonSetting(
            key: WorkersSection.key, isSame: { $0.workers == $1.workers },
            apply: { _, _ throws(SettingProblem) in
                throw SettingProblem("is a group of programs; name them in the configuration file")
            })
    }

    /// A value that the built-in worker reads.
    static func worker(_ setting: WorkerSetting) -> DaemonSetting {
        let key = setting.key
        var read = DaemonSetting(
            key: key, isList: setting.isList,
            isSame: { $0.workerSettings[key] == $1.workerSettings[key] },
            apply: { text, configuration in configuration.workerSettings[key] = text })
        read.isLive = true
        return read
    }
}
