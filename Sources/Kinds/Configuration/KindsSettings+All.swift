import Jobs
import Settings
import Web

extension KindsSettings {
    /// All keys, in the order of `config/halyard.yaml`.
    package static let all: [Setting<KindsSettings>] = [
        .paths("upload.roots", \.kinds.upload.roots),
        .optionalPath("upload.credentials", \.credentialFolder),
        .many(
            "upload.credential_origins", \.kinds.upload.credentialOrigins,
            valid:
                "the credential's name and the server to which it may be sent, such as storage=https://s3.example.org"
        ) { CredentialOrigin($0) },
        .size("upload.max_size", \.kinds.upload.maxBytes, 1...(1 << 50)),
        .optionalPath("upload.checkpoints", \.kinds.upload.checkpoints),
        .size("upload.chunk_size", \.kinds.upload.chunkBytes, (1 << 20)...(1 << 40)),
        .size("upload.part_size", \.kinds.upload.partBytes, (5 << 20)...(5 << 30)),
        .size("upload.memory", \.kinds.upload.bufferBytes, (1 << 20)...(1 << 40)),
        .optional(
            "upload.max_rate", \.kinds.upload.maxBytesPerSecond,
            valid: "at least 1KiB per second, with a unit, such as 10MiB, or \"\" for no limit"
        ) { text in
            ByteSize(text).flatMap { $0.bytes >= 1024 ? $0.bytes : nil }
        },

        .optionalPath("spool.directory", \.kinds.upload.spool),
        .optionalPath("files.directory", \.kinds.upload.files),

        .many("network.ports", \.kinds.outgoing.policy.ports, valid: "port numbers from 1 to 65535") {
            UInt16($0).flatMap { $0 > 0 ? $0 : nil }
        },
        .many(
            "network.allow", \.kinds.outgoing.policy.allow,
            valid:
                "a host, *.domain, address or network, with :PORT for one port, such as 10.0.0.0/8 or nas.example.org:9000"
        ) { AllowRule($0) },
        .one("network.user_agent_suffix", \.kinds.outgoing.userAgentSuffix, headerText),
        .one("network.proxy", \.kinds.outgoing.proxy, proxy),
        .one("network.proxy_credential", \.proxyCredential) { $0.isEmpty ? nil : $0 },
        .duration("network.connect_timeout", \.kinds.outgoing.limits.connect, .milliseconds(100) ... .seconds(300)),
        .duration("network.idle_timeout", \.kinds.outgoing.limits.idle, .milliseconds(100) ... .seconds(3600)),
        .optionalPath("network.authorities", \.kinds.outgoing.certificateFile),
        .duration("network.retry_after_limit", \.kinds.outgoing.limits.retryAfter, .zero ... .seconds(86_400)),
        .integer("network.host_requests", \.kinds.outgoing.host.concurrent, 1...1000),
        .duration("network.host_interval", \.kinds.outgoing.host.interval, .zero ... .seconds(3600)),
        .integer("network.host_failures", \.kinds.outgoing.host.failuresBeforeRest, 1...1000),
        .duration("network.host_rest", \.kinds.outgoing.host.rest, .zero ... .seconds(3600)),

        .integer("unfurl.max_redirects", \.kinds.unfurl.maxRedirects, 0...50),
        .duration("unfurl.timeout", \.kinds.unfurl.timeout, .milliseconds(100) ... .seconds(3600)),
        .duration("unfurl.hop_timeout", \.kinds.unfurl.hopTimeout, .milliseconds(100) ... .seconds(3600)),
        .duration("unfurl.keeps", \.kinds.unfurl.keeps, .zero ... .seconds(86_400)),
        .many(
            "unfurl.tracking_parameters", \.trackingParameters,
            valid: "names of parameters without spaces, such as ref or xtor*"
        ) { text in
            let isName = (1...100).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
            return isName ? text : nil
        },
        .one("unfurl.tracking_list", \.trackingList, trackingList),
        .many(
            "unfurl.wrappers", \.kinds.unfurl.wrappers,
            valid: "a host, the beginning of a path and a parameter, such as go.example.org/out url"
        ) { WrapperRule($0) },

        .integer("enrich.max_redirects", \.kinds.enrich.maxRedirects, 0...50),
        .duration("enrich.timeout", \.kinds.enrich.timeout, .milliseconds(100) ... .seconds(3600)),
        .size("enrich.max_size", \.kinds.enrich.maxBytes, 1024...(2 << 20)),
    ]

    /// Parses a proxy's address; an empty text means no proxy.
    @Sendable private static func proxy(_ text: String) throws(SettingProblem) -> ProxyServer? {
        if text.isEmpty { return nil }
        guard let proxy = ProxyServer(text) else {
            throw SettingProblem(
                "is not a proxy; write http://HOST:PORT, and put a user name and password into the file of network.proxy_credential"
            )
        }
        return proxy
    }

    /// Reads the list from the file named by `text`; an empty text means no list.
    @Sendable private static func trackingList(_ text: String) throws(SettingProblem) -> TrackingList? {
        if text.isEmpty { return nil }
        guard let path = AbsolutePath.parse(text) else {
            throw SettingProblem("is \"\(text)\"; write \(AbsolutePath.valid)")
        }
        let list: String
        do { list = try readText(path, upTo: 16 << 20).get() } catch {
            throw SettingProblem(
                "names \"\(path)\", which cannot be read (\(error.reason)); write the path of a text file of at most 16 MiB"
            )
        }
        do throws(TrackingList.Problem) { return try TrackingList(list) } catch {
            throw SettingProblem(
                "names \"\(path)\", whose line \(error.line) is not a rule; write NAME or HOST NAME, or a rule with $removeparam=NAME"
            )
        }
    }

    @Sendable private static func headerText(_ text: String) throws(SettingProblem) -> String {
        guard text.utf8.count <= 200, text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) else {
            throw SettingProblem(
                "is not plain ASCII of at most 200 characters; write something like (+https://example.org/bot)")
        }
        return text
    }
}
