import Jobs
import Logging

extension Setting {
    /// Every key there is, in the order of `config/halyard.yaml`.
    static let all: [Setting] = [
        .one("database", \.database, absolutePath),
        .one("socket", \.socket, absolutePath),
        .one("socket_group", \.socketGroup) { $0.isEmpty ? nil : $0 },
        .one("socket_mode", \.socketMode, mode),
        .one("definitions", \.definitions, optionalPath),

        .integer("slots", \.slots, 1...10_000),
        .duration("ageing", \.ageing, .seconds(1) ... .seconds(86_400 * 30)),
        .integer("max_rescues", \.maxRescues, 0...1000),
        .duration("drain_timeout", \.drainTimeout, .zero ... .seconds(86_400)).live(),
        .duration("grace", \.grace, .milliseconds(100) ... .seconds(3600)),

        .one("log.level", \.logLevel, level).live(),
        .duration("status.interval", \.statusInterval, .milliseconds(100) ... .seconds(3600)),

        .many("upload.roots", \.upload.roots, absolutePath).live(),
        .one("upload.credentials", \.upload.credentials, optionalPath).live(),
        .size("upload.max_size", \.upload.maxBytes, 1...(1 << 50)).live(),

        .one("spool.directory", \.spool.directory, optionalPath),
        .size("spool.limit", \.spool.maxBytes, 0...(1 << 50)),

        .list("network.ports", ports).live(),
        .many("network.allow", \.network.allow, allowRule).live(),
        .one("network.user_agent_suffix", \.network.userAgentSuffix, headerText).live(),
        .duration("network.connect_timeout", \.network.connectTimeout, .milliseconds(100) ... .seconds(300)).live(),
        .duration("network.idle_timeout", \.network.idleTimeout, .milliseconds(100) ... .seconds(3600)).live(),
    ]

    @Sendable private static func mode(_ text: String) throws(Refusal) -> UInt16 {
        // Others may never connect: who can enqueue can make the daemon send files.
        guard let mode = UInt16(text, radix: 8), mode & ~0o770 == 0, mode & 0o600 == 0o600 else {
            throw Refusal(
                reason:
                    "is \"\(text)\"; write octal permission bits in quotes, \"0600\" or \"0660\", nothing for others")
        }
        return mode
    }

    @Sendable private static func level(_ text: String) throws(Refusal) -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            throw Refusal(
                reason: "is \"\(text)\"; write one of " + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return level
    }

    @Sendable private static func ports(_ texts: [String], _ configuration: inout DaemonConfiguration)
        throws(Refusal)
    {
        var ports: Set<UInt16> = []
        for text in texts {
            guard let port = UInt16(text), port > 0 else {
                throw Refusal(reason: "holds \"\(text)\"; write port numbers from 1 to 65535")
            }
            ports.insert(port)
        }
        configuration.network.ports = ports
    }

    @Sendable private static func allowRule(_ text: String) throws(Refusal) -> String {
        text
    }

    @Sendable private static func headerText(_ text: String) throws(Refusal) -> String {
        guard text.utf8.count <= 200, text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) else {
            throw Refusal(
                reason: "is not plain ASCII of at most 200 characters; write something like (+https://example.org/bot)")
        }
        return text
    }
}
