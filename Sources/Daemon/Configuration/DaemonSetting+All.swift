import Jobs
import Logging
import Settings

extension DaemonSetting {
    /// The keys that the daemon reads or chooses itself and also passes to the built-in worker.
    private static let ownKeys: Set = [
        "files.directory", "spool.directory", "upload.checkpoints", "upload.credentials",
    ]

    /// All keys: first those of the daemon, in the order of `config/halyard.yaml`, then those of the built-in worker.
    static let all: [DaemonSetting] =
        [
            .one("database", \.address, DatabaseAddress.init(setting:)),
            .optionalPath("home", \.home),
            .path("socket", \.socket),
            .one("socket_group", \.socketGroup) { $0.isEmpty ? nil : $0 },
            .one(
                "socket_mode", \.socketMode,
                valid: "octal permission bits in quotes, \"0600\" or \"0660\", with no permissions for others"
            ) { text in
                // Other users may never connect, because a user who can enqueue can make the daemon send files.
                UInt16(text, radix: 8).flatMap { $0 & ~0o770 == 0 && $0 & 0o600 == 0o600 ? $0 : nil }
            },
            .optionalPath("definitions", \.definitions),

            .optional("daemon.name", \.daemonName, valid: "up to 64 visible characters, or \"\" for the host's name") {
                text in
                text.utf8.count <= 64 && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
                    ? text : nil
            },
            .many("daemon.queues", \.daemonQueues, valid: "names of queues") { Names.isName($0) ? $0 : nil },
            .many("daemon.kinds", \.daemonKinds, valid: "names of kinds") { $0.isEmpty ? nil : $0 },
            .duration("daemon.lease", \.lease, .seconds(10) ... .seconds(600)),

            .integer("slots", \.slots, 1...10_000).live(),
            .duration("ageing", \.ageing, .seconds(1) ... .seconds(86_400 * 30)).live(),
            .integer("max_rescues", \.maxRescues, 0...1000),
            .duration("drain_timeout", \.drainTimeout, .zero ... .seconds(86_400)).live(),
            .duration("grace", \.grace, .milliseconds(100) ... .seconds(3600)).live(),

            .one(
                "log.level", \.logLevel,
                valid: "one of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            ) { Logger.Level(rawValue: $0) }.live(),
            .duration("status.interval", \.statusInterval, .milliseconds(100) ... .seconds(3600)),

            .optionalPath("upload.credentials", \.credentialFolder).live(),
            .optionalPath("upload.checkpoints", \.checkpoints),
            .optionalPath("spool.directory", \.spool.directory),
            .one("spool.shared", \.spool.isShared, valid: "true or false") { Bool($0) },
            .size("spool.limit", \.spool.maxBytes, 0...(1 << 50)),
            .workers.live(),

            .paths("program.roots", \.programRoots).live(),
            .optionalPath("program.directory", \.programFolder),
        ] + WorkerSetting.all.filter { !ownKeys.contains($0.key) }.map { .worker($0) }
}

extension DatabaseAddress {
    @Sendable fileprivate init(setting text: String) throws(SettingProblem) {
        do throws(DatabaseAddressProblem) {
            self = try DatabaseAddress(text)
        } catch {
            guard error == .empty else { throw SettingProblem("is invalid: \(error)") }
            self = .file(path: text)
        }
        guard let path, AbsolutePath.parse(path) == nil else { return }
        throw SettingProblem("is \"\(text)\"; write \(AbsolutePath.valid)")
    }
}
