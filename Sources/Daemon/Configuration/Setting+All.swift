import Jobs
import Kinds
import Logging
import Web

extension Setting {
    /// All keys, in the order of `config/halyard.yaml`.
    static let all: [Setting] = [
        .one("database", \.database, absolutePath),
        .one("socket", \.socket, absolutePath),
        .one("socket_group", \.socketGroup) { $0.isEmpty ? nil : $0 },
        .one("socket_mode", \.socketMode, mode),
        .one("definitions", \.definitions, optionalPath),

        .integer("slots", \.slots, 1...10_000).live(),
        .duration("ageing", \.ageing, .seconds(1) ... .seconds(86_400 * 30)).live(),
        .integer("max_rescues", \.maxRescues, 0...1000),
        .duration("drain_timeout", \.drainTimeout, .zero ... .seconds(86_400)).live(),
        .duration("grace", \.grace, .milliseconds(100) ... .seconds(3600)).live(),

        .one("log.level", \.logLevel, level).live(),
        .duration("status.interval", \.statusInterval, .milliseconds(100) ... .seconds(3600)),

        .many("upload.roots", \.upload.roots, absolutePath).live(),
        .one("upload.credentials", \.upload.credentials, optionalPath).live(),
        .many("upload.credential_origins", \.upload.credentialOrigins, credentialOrigin).live(),
        .size("upload.max_size", \.upload.maxBytes, 1...(1 << 50)).live(),
        .one("upload.checkpoints", \.upload.checkpoints, optionalPath),
        .size("upload.chunk_size", \.upload.chunkBytes, (1 << 20)...(1 << 40)).live(),
        .size("upload.part_size", \.upload.partBytes, (5 << 20)...(5 << 30)).live(),
        .size("upload.memory", \.upload.bufferBytes, (1 << 20)...(1 << 40)).live(),
        .one("upload.max_rate", \.upload.maxBytesPerSecond, rate).live(),

        .one("spool.directory", \.spool.directory, optionalPath),
        .size("spool.limit", \.spool.maxBytes, 0...(1 << 50)),

        .many("network.ports", \.network.ports, port).live(),
        .many("network.allow", \.network.allow, allowRule).live(),
        .one("network.user_agent_suffix", \.network.userAgentSuffix, headerText).live(),
        .one("network.proxy", \.network.proxy, proxy).live(),
        .one("network.proxy_credential", \.network.proxyCredential) { $0.isEmpty ? nil : $0 }.live(),
        .duration("network.connect_timeout", \.network.connectTimeout, .milliseconds(100) ... .seconds(300)).live(),
        .duration("network.idle_timeout", \.network.idleTimeout, .milliseconds(100) ... .seconds(3600)).live(),
        .one("network.authorities", \.network.authorities, optionalPath).live(),
        .duration("network.retry_after_limit", \.network.retryAfterLimit, .zero ... .seconds(86_400)).live(),
        .integer("network.host_requests", \.network.hostRequests, 1...1000).live(),
        .duration("network.host_interval", \.network.hostInterval, .zero ... .seconds(3600)).live(),
        .integer("network.host_failures", \.network.hostFailures, 1...1000).live(),
        .duration("network.host_rest", \.network.hostRest, .zero ... .seconds(3600)).live(),

        .integer("unfurl.max_redirects", \.unfurl.maxRedirects, 0...50).live(),
        .duration("unfurl.timeout", \.unfurl.timeout, .milliseconds(100) ... .seconds(3600)).live(),
        .duration("unfurl.hop_timeout", \.unfurl.hopTimeout, .milliseconds(100) ... .seconds(3600)).live(),
        .duration("unfurl.keeps", \.unfurl.keeps, .zero ... .seconds(86_400)).live(),
        .many("unfurl.tracking_parameters", \.unfurl.trackingParameters, parameterName).live(),
        .one("unfurl.tracking_list", \.unfurl.trackingList, trackingList).live(),
        .many("unfurl.wrappers", \.unfurl.wrappers, wrapper).live(),

        .integer("enrich.max_redirects", \.enrich.maxRedirects, 0...50).live(),
        .duration("enrich.timeout", \.enrich.timeout, .milliseconds(100) ... .seconds(3600)).live(),
        .size("enrich.max_size", \.enrich.maxBytes, 1024...(2 << 20)).live(),
    ]

    @Sendable private static func mode(_ text: String) throws(Refusal) -> UInt16 {
        // Other users may never connect, because a user who can enqueue can make the daemon send files.
        guard let mode = UInt16(text, radix: 8), mode & ~0o770 == 0, mode & 0o600 == 0o600 else {
            throw Refusal(
                reason:
                    "is \"\(text)\"; write octal permission bits in quotes, \"0600\" or \"0660\", with no permissions for others"
            )
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

    @Sendable private static func port(_ text: String) throws(Refusal) -> UInt16 {
        guard let port = UInt16(text), port > 0 else {
            throw Refusal(reason: "contains \"\(text)\"; write port numbers from 1 to 65535")
        }
        return port
    }

    @Sendable private static func allowRule(_ text: String) throws(Refusal) -> String {
        guard AllowRule(text) != nil else {
            throw Refusal(
                reason:
                    "contains \"\(text)\"; write a host, *.domain, address or network, with :PORT for one port, such as 10.0.0.0/8 or nas.example.org:9000"
            )
        }
        return text
    }

    /// Parses a proxy's address; an empty text means no proxy.
    @Sendable private static func proxy(_ text: String) throws(Refusal) -> ProxyServer? {
        if text.isEmpty { return nil }
        guard let proxy = ProxyServer(text) else {
            throw Refusal(
                reason:
                    "is not a proxy; write http://HOST:PORT, and put a user name and password into the file of network.proxy_credential"
            )
        }
        return proxy
    }

    @Sendable private static func credentialOrigin(_ text: String) throws(Refusal) -> CredentialOrigin {
        guard let origin = CredentialOrigin(text) else {
            throw Refusal(
                reason:
                    "contains \"\(text)\"; write the credential's name and the server to which it may be sent, such as storage=https://s3.example.org"
            )
        }
        return origin
    }

    @Sendable private static func parameterName(_ text: String) throws(Refusal) -> String {
        guard !text.isEmpty, text.utf8.count <= 100, !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) else {
            throw Refusal(
                reason: "contains \"\(text)\"; write names of parameters without spaces, such as ref or xtor*")
        }
        return text
    }

    /// Reads the list from the file named by `text`; an empty text means no list.
    @Sendable private static func trackingList(_ text: String) throws(Refusal) -> TrackingList? {
        guard let path = try optionalPath(text) else { return nil }
        let list: String
        do { list = try readText(path, upTo: 16 << 20).get() } catch {
            throw Refusal(
                reason:
                    "names \"\(path)\", which cannot be read (\(error.reason)); write the path of a text file of at most 16 MiB"
            )
        }
        do throws(TrackingList.Problem) { return try TrackingList(list) } catch {
            throw Refusal(
                reason:
                    "names \"\(path)\", whose line \(error.line) is not a rule; write NAME or HOST NAME, or a rule with $removeparam=NAME"
            )
        }
    }

    @Sendable private static func wrapper(_ text: String) throws(Refusal) -> String {
        guard WrapperRule(text) != nil else {
            throw Refusal(
                reason:
                    "contains \"\(text)\"; write a host, the beginning of a path and a parameter, such as go.example.org/out url"
            )
        }
        return text
    }

    @Sendable private static func rate(_ text: String) throws(Refusal) -> Int64? {
        if text.isEmpty { return nil }
        guard let bytes = ByteSize(text)?.bytes, bytes >= 1024 else {
            throw Refusal(
                reason:
                    "is \"\(text)\"; write at least 1KiB per second, with a unit, such as 10MiB, or \"\" for no limit")
        }
        return bytes
    }

    @Sendable private static func headerText(_ text: String) throws(Refusal) -> String {
        guard text.utf8.count <= 200, text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) else {
            throw Refusal(
                reason: "is not plain ASCII of at most 200 characters; write something like (+https://example.org/bot)")
        }
        return text
    }
}
