import Glibc
import Kinds
import Systemd
import Testing

@testable import Daemon

@Suite struct ConfigurationTests {
    private func load(
        _ yaml: String? = nil, flags: [String: String] = [:], environment: [String: String] = [:],
        service: ServiceEnvironment = ServiceEnvironment()
    ) throws -> DaemonConfiguration {
        let folder = try TemporaryFolder()
        let path = folder.path + "/halyard.yaml"
        if let yaml { try folder.write(yaml, to: "halyard.yaml") }
        let sources = ConfigurationSources(
            file: yaml == nil ? nil : path, flags: flags, environment: environment, service: service)
        do throws(ConfigurationProblem) {
            return try DaemonConfiguration.load(sources)
        } catch {
            throw ConfigurationProblem(
                error.problems.map { $0.hasPrefix(folder.path) ? String($0.dropFirst(folder.path.count + 1)) : $0 })
        }
    }

    private func problems(
        _ yaml: String? = nil, flags: [String: String] = [:], environment: [String: String] = [:]
    ) throws -> [String] {
        do {
            _ = try load(yaml, flags: flags, environment: environment)
            return []
        } catch let error as ConfigurationProblem {
            return error.problems
        }
    }

    // MARK: The shipped file

    private static let shipped = repository + "/config/halyard.yaml"

    @Test func theShippedFileSetsNothing() throws {
        let text = try readText(Self.shipped).get()
        #expect(try load(text) == DaemonConfiguration())
    }

    @Test func theShippedFileShowsEveryKeyWithItsDefault() throws {
        // A commented key has no space after its #, prose has one.
        let lines = try readText(Self.shipped).get().split(separator: "\n").compactMap { line -> String? in
            let indent = line.prefix { $0 == " " }
            let rest = line.dropFirst(indent.count)
            guard rest.first == "#", let next = rest.dropFirst().first, next != " " else { return nil }
            return String(indent) + String(rest.dropFirst())
        }
        let text = lines.joined(separator: "\n")
        #expect(try load(text) == DaemonConfiguration())
        let shown = ConfigurationFile(path: "halyard.yaml", text: text)
        #expect(shown.values.keys.sorted() == Setting.all.map(\.key).sorted())
    }

    @Test func theShippedFileMarksWhatAReloadTakesOver() throws {
        var marked: Set<String> = []
        var isMarked = false
        for line in try readText(Self.shipped).get().split(separator: "\n") {
            let rest = line.drop { $0 == " " }
            if rest.hasPrefix("# ") {
                isMarked = isMarked || rest.hasSuffix("[live]")
            } else if rest.hasPrefix("#"), rest.last != ":" {
                if isMarked { marked.insert(String(rest.dropFirst().prefix { $0 != ":" })) }
                isMarked = false
            }
        }
        let live = Setting.all.filter(\.isLive).compactMap { $0.key.split(separator: ".").last.map(String.init) }
        #expect(marked == Set(live))
    }

    // MARK: Precedence

    @Test func flagsCountBeforeEnvironmentBeforeFileBeforeDefaults() throws {
        let yaml = "slots: 2\nmax_rescues: 5\nageing: 1m\n"
        let environment = ["HALYARD_SLOTS": "3", "HALYARD_MAX_RESCUES": "6"]
        let configuration = try load(yaml, flags: ["slots": "4"], environment: environment)
        #expect(configuration.slots == 4)
        #expect(configuration.maxRescues == 6)
        #expect(configuration.ageing == .seconds(60))
        #expect(configuration.grace == .seconds(5))
    }

    @Test func listsComeFromEverySource() throws {
        #expect(try load("upload:\n  roots: [/a, /b]\n").kinds.upload.roots == ["/a", "/b"])
        #expect(try load(environment: ["HALYARD_UPLOAD_ROOTS": "/c,/d"]).kinds.upload.roots == ["/c", "/d"])
        #expect(try load(flags: ["upload.roots": "/e,/f"]).kinds.upload.roots == ["/e", "/f"])
        #expect(try load("upload:\n  roots: [/a]\n", flags: ["upload.roots": ""]).kinds.upload.roots == [])
    }

    @Test func directoriesOfSystemdAreDefaults() throws {
        var service = ServiceEnvironment()
        service.stateDirectory = "/var/lib/one"
        service.runtimeDirectory = "/run/one"
        service.credentialsDirectory = "/run/credentials/one"
        let configuration = try load("socket: /tmp/x\n", service: service)
        #expect(configuration.database == "/var/lib/one/halyard.db")
        #expect(configuration.spoolDirectory == "/var/lib/one/spool")
        #expect(configuration.socket == "/tmp/x")
        #expect(configuration.credentialFolder == "/run/credentials/one")
    }

    // MARK: What is refused

    @Test(arguments: [
        ("slot: 4", "halyard.yaml:1: unknown key \"slot\"; did you mean \"slots\"?"),
        ("\nuplaod:\n  roots: []", "halyard.yaml:2: unknown key \"uplaod\"; did you mean \"upload\"?"),
        ("upload:\n  rots: []", "halyard.yaml:2: unknown key \"upload.rots\"; did you mean \"upload.roots\"?"),
        (
            "upload: 3",
            "halyard.yaml:1: upload is a group of keys; write them indented under it: upload.roots, upload.credentials, upload.credential_origins, upload.max_size, upload.checkpoints, upload.chunk_size, upload.part_size, upload.memory, upload.max_rate"
        ),
        ("slots:", "halyard.yaml:1: slots has no value; give one, or remove the line"),
        ("slots: [1]", "halyard.yaml:1: slots takes one value, not a list"),
        ("slots: {a: 1}", "halyard.yaml:1: slots takes one value, not keys under it"),
        ("slots: 0", "halyard.yaml:1: slots is \"0\"; write a whole number from 1 to 10000"),
        ("upload:\n  roots: /srv", "halyard.yaml:2: upload.roots takes a list; write [a, b] or []"),
        ("upload:\n  roots: [srv]", "halyard.yaml:2: upload.roots contains \"srv\"; write a path that begins with /"),
        (
            "drain_timeout: 30",
            "halyard.yaml:1: drain_timeout is \"30\"; write a number with a unit (ms, s, m, h, d) from 0s to 1d"
        ),
        (
            "spool:\n  limit: 5 GB",
            "halyard.yaml:2: spool.limit is \"5 GB\"; write a number with a unit (B, KiB, MiB, GiB, TiB) from 0B to 1024TiB"
        ),
        (
            "socket_mode: \"0666\"",
            "halyard.yaml:1: socket_mode is \"0666\"; write octal permission bits in quotes, \"0600\" or \"0660\", with no permissions for others"
        ),
        (
            "log:\n  level: loud",
            "halyard.yaml:2: log.level is \"loud\"; write one of trace, debug, info, notice, warning, error, critical"
        ),
        (
            "upload:\n  credential_origins: [storage]",
            "halyard.yaml:2: upload.credential_origins contains \"storage\"; write the credential's name and the server to which it may be sent, such as storage=https://s3.example.org"
        ),
        (
            "network:\n  proxy: https://proxy:3128",
            "halyard.yaml:2: network.proxy is not a proxy; write http://HOST:PORT, and put a user name and password into the file of network.proxy_credential"
        ),
        (
            "upload:\n  max_rate: 10485760",
            "halyard.yaml:2: upload.max_rate is \"10485760\"; write at least 1KiB per second, with a unit, such as 10MiB, or \"\" for no limit"
        ),
        (
            "definitions: etc/definitions.yaml",
            "halyard.yaml:1: definitions is \"etc/definitions.yaml\"; write a path that begins with /, or \"\" for none"
        ),
        ("network:\n  ports: [0]", "halyard.yaml:2: network.ports contains \"0\"; write port numbers from 1 to 65535"),
        ("slots: 4\nslots: 5", #"halyard.yaml:2: the name "slots" occurs twice in one map; remove one"#),
        ("- a", "halyard.yaml:1: the file contains no keys; write KEY: VALUE on each line"),
    ])
    func aBadFileIsRefusedWithLineAndRemedy(yaml: String, problem: String) throws {
        #expect(try problems(yaml) == [problem])
    }

    @Test func everyProblemIsToldAtOnce() throws {
        let found = try problems("slots: many\ngrace: 1\n", flags: ["slot": "1"], environment: ["HALYARD_AGEING": "x"])
        #expect(found.count == 4)
        #expect(found.contains { $0.hasPrefix("halyard.yaml:1: slots") })
        #expect(found.contains { $0.hasPrefix("halyard.yaml:2: grace") })
        #expect(found.contains { $0.hasPrefix("HALYARD_AGEING: ageing") })
        #expect(found.contains { $0.hasPrefix("--set: unknown key \"slot\"") })
    }

    @Test func aTrackingListIsReadWithTheConfiguration() throws {
        let folder = try TemporaryFolder()
        try folder.write("# ours\nref\nshop.example src\n", to: "good.txt")
        try folder.write("ref\na b c\n", to: "bad.txt")
        #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
        let key = "unfurl.tracking_list"
        #expect(try load(flags: [key: folder.path + "/good.txt"]).trackingList?.count == 2)
        #expect(try load(flags: [key: ""]).trackingList == nil)
        for (name, reason) in [
            ("bad.txt", "whose line 2 is not a rule"), ("none.txt", "No such file or directory"),
            ("pipe", "which cannot be read"), (".", "which cannot be read"),
        ] {
            let problem = try #require(problems(flags: [key: folder.path + "/" + name]).first)
            #expect(problem.contains(key) && problem.contains(reason), "\(problem)")
        }
    }

    @Test func everyWrongEntryOfAListIsToldOnceWithItsLine() throws {
        let wrong = """
            network:
              allow: [10.0.0.0/8, "a b", "c d"]
              ports:
                - 0
                - {a: 1}
                - 80
                - no
            upload:
              credential_origins: [x, x, storage=https://s3.example.org, y]
            slots: 0
            """
        let places = try problems(wrong).map { $0.split(separator: ";")[0] }
        #expect(
            places == [
                "halyard.yaml:5: network.ports accepts only single values in its list",
                "halyard.yaml:10: slots is \"0\"",
                "halyard.yaml:9: upload.credential_origins contains \"x\"",
                "halyard.yaml:9: upload.credential_origins contains \"y\"",
                "halyard.yaml:4: network.ports contains \"0\"",
                "halyard.yaml:7: network.ports contains \"no\"",
                "halyard.yaml:2: network.allow contains \"a b\"",
                "halyard.yaml:2: network.allow contains \"c d\"",
            ])
        #expect(try problems(flags: ["network.ports": "0,80,x"]).count == 2)
    }

    @Test func brokenYAMLIsRefusedWithItsLine() throws {
        let found = try problems("slots: 1\n\tgrace: 1s\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("halyard.yaml:2: invalid YAML") == true)
    }

    @Test func aNamedFileMustExist() {
        let error = #expect(throws: ConfigurationProblem.self) {
            try DaemonConfiguration.load(ConfigurationSources(file: "/nonexistent/halyard.yaml"))
        }
        #expect(
            error?.problems == [
                "/nonexistent/halyard.yaml cannot be read: No such file or directory. Check the path and its permissions."
            ])
    }

    @Test func aMisspelledVariableIsTold() {
        #expect(
            DaemonConfiguration.unknownVariables(in: ["HALYARD_SLOT": "1", "HALYARD_SLOTS": "1", "HOME": "/"])
                == ["unknown variable \"HALYARD_SLOT\"; did you mean \"HALYARD_SLOTS\"?; it is ignored"])
    }
}
