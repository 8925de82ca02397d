import Glibc
import Jobs
import Settings
import Systemd
import Testing
import WorkerProtocol
import Workers

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
        var configuration = try load(text)
        // The worker knows its own defaults.
        configuration.workerSettings = [:]
        #expect(configuration == DaemonConfiguration())
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
        var configuration = try load(text)
        // The worker knows its own defaults.
        configuration.workerSettings = [:]
        #expect(configuration == DaemonConfiguration())
        let shown = ConfigurationFile(path: "halyard.yaml", text: text)
        let keys = Array(shown.values.keys) + shown.workerLines.keys
        #expect(keys.sorted() == DaemonSetting.all.map(\.key).sorted())
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
        let live = DaemonSetting.all.filter(\.isLive).compactMap { $0.key.split(separator: ".").last.map(String.init) }
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
        #expect(try load("upload:\n  roots: [/a, /b]\n").workerSettings["upload.roots"] == .list(["/a", "/b"]))
        #expect(
            try load(environment: ["HALYARD_UPLOAD_ROOTS": "/c,/d"]).workerSettings["upload.roots"]
                == .list(["/c", "/d"]))
        #expect(try load(flags: ["upload.roots": "/e,/f"]).workerSettings["upload.roots"] == .list(["/e", "/f"]))
        #expect(
            try load("upload:\n  roots: [/a]\n", flags: ["upload.roots": ""]).workerSettings["upload.roots"]
                == .list([]))
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

    @Test func aDaemonHasItsHomeBesideItsFileOrInTheServicesFolder() throws {
        #expect(try load("database: /srv/jobs/halyard.db\n").homeDirectory == "/srv/jobs")
        #expect(try load("home: /srv/home\n").spoolDirectory == "/srv/home/spool")
        #expect(try load("spool:\n  shared: true\n").spool.isShared)
        #expect(try !load("home: /srv/home\n").spool.isShared)
        let url = "database: postgresql://halyard@db/jobs\n"
        #expect(try load(url).homeDirectory == "/var/lib/halyard/postgresql")
        var service = ServiceEnvironment()
        service.stateDirectory = "/var/lib/one"
        let configuration = try load(url, service: service)
        #expect(configuration.spoolDirectory == "/var/lib/one/postgresql/spool")
        #expect(configuration.homeDirectory == "/var/lib/one/postgresql")
    }

    /// The built-in worker reads the spool, keeps checkpoints of uploads and sends the files of jobs.
    @Test(arguments: [
        ("database: /srv/jobs/halyard.db\n", "/srv/jobs"), ("home: /srv/home\n", "/srv/home"),
        ("database: postgresql://halyard@db/jobs\n", "/var/lib/halyard/postgresql"),
        ("database: postgresql://halyard@db/jobs\nhome: /srv/home\n", "/srv/home"),
    ])
    func theBuiltInWorkerUsesTheDaemonsHome(yaml: String, home: String) throws {
        let worker = try #require(try load(yaml).workerPrograms(in: DaemonSurroundings()).first)
        let settings = try #require(JSONObject(worker.settings))
        #expect(settings["files.directory"]?.decodedString == home + "/files")
        #expect(settings["spool.directory"]?.decodedString == home + "/spool")
        #expect(settings["upload.checkpoints"]?.decodedString == home + "/uploads")
    }

    /// The store and the worker must mean the same folder.
    @Test func theFilesAreBesideTheDatabaseItselfAlsoBehindALink() throws {
        let folder = try TemporaryFolder()
        let real = try #require(realpath(folder.path, nil))
        defer { free(real) }
        let home = String(cString: real)
        #expect(mkdir(home + "/real", 0o700) == 0)
        #expect(symlink("real", home + "/link") == 0)
        let yaml = "database: \(home)/link/halyard.db\n"
        #expect(try load(yaml).filesDirectory == home + "/real/files")
        try folder.write("", to: "other.db")
        #expect(symlink("../other.db", home + "/real/halyard.db") == 0)
        #expect(try load(yaml).filesDirectory == home + "/files")
    }

    @Test func aDaemonOfAFleetIsDescribed() throws {
        let configuration = try load("daemon: {name: one, queues: [mail, photos], kinds: [resize], lease: 1m}\n")
        #expect(configuration.daemonName == "one")
        #expect(configuration.daemonQueues == ["mail", "photos"])
        #expect(configuration.daemonKinds == ["resize"])
        #expect(configuration.lease == .seconds(60))
        #expect(throws: ConfigurationProblem.self) { try load("daemon: {lease: 9s}\n") }
        #expect(throws: ConfigurationProblem.self) { try load("daemon: {queues: [No Queue]}\n") }
    }

    @Test func aPasswordComesFromTheServicesCredentials() throws {
        let folder = try TemporaryFolder()
        var service = ServiceEnvironment()
        service.credentialsDirectory = folder.path
        #expect(try load(service: service).databasePasswordFile == nil)
        let path = try folder.write("secret\n", to: "postgresql")
        #expect(try load(service: service).databasePasswordFile == path)
    }

    // MARK: Workers

    @Test func aWorkerIsReadWithItsDefaults() throws {
        let configuration = try load("workers:\n  photos: {command: [/usr/lib/photos/worker, -v]}\n")
        #expect(configuration.workers == [.init(name: "photos", command: ["/usr/lib/photos/worker", "-v"])])
        #expect(configuration.workers.first?.processes == 1)
        #expect(configuration.workers.first?.attempts == 8)
    }

    @Test func allOfAWorkerIsRead() throws {
        let configuration = try load(
            """
            workers:
              b:
                command: [/b]
                processes: 64
                attempts: 1024
                limits: {memory: 512MiB, processes: 64, descriptors: 4096}
                environment: {LANG: C.UTF-8, N: 3}
                settings: {photos.folder: /srv, sizes: [320, "640"], deep: {on: true}}
              a.1_x-y: {command: [/a]}
            """)
        #expect(configuration.workers.map(\.name) == ["b", "a.1_x-y"])
        let worker = try #require(configuration.workers.first)
        #expect(worker.processes == 64 && worker.attempts == 1024)
        #expect(worker.limits.memory == 512 << 20)
        #expect(worker.limits.processes == 64 && worker.limits.descriptors == 4096)
        #expect(configuration.workers.last?.limits == WorkerProgram.Limits())
        #expect(worker.environment == ["LANG": "C.UTF-8", "N": "3"])
        #expect(worker.settings.string == #"{"photos.folder":"/srv","sizes":[320,"640"],"deep":{"on":true}}"#)
        #expect(configuration.places.place(ofWorker: "b", setting: "sizes", entry: 1).hasSuffix("halyard.yaml:8"))
        #expect(configuration.places.place(ofWorker: "b", setting: "none").hasSuffix("halyard.yaml:2"))
    }

    @Test(arguments: [
        ("workers: [/a]", "halyard.yaml:1: workers takes the names of workers"),
        ("workers:\n  Photos: {command: [/a]}", "halyard.yaml:2: the name of a worker has up to 64 lower-case letters"),
        ("workers:\n  halyard-worker: {command: [/a]}", "halyard.yaml:2: workers.halyard-worker has the name of"),
        ("workers:\n  a: {}", "halyard.yaml:2: workers.a has no command; write command: [/path/of/the/program]"),
        ("workers:\n  a: /a", "halyard.yaml:2: workers.a takes keys under it: command, processes, attempts"),
        ("workers:\n  a:\n    command: /a", "halyard.yaml:3: workers.a.command takes a list of the program"),
        ("workers:\n  a:\n    command: [a]", "workers.a.command begins with \"a\"; write a path that begins with /"),
        ("workers:\n  a:\n    command: []", "halyard.yaml:3: workers.a.command takes a list of the program"),
        (
            "workers:\n  a:\n    command: [/a]\n    proceses: 2",
            "halyard.yaml:4: unknown key \"workers.a.proceses\"; did you mean \"workers.a.processes\"?"
        ),
        ("workers:\n  a: {command: [/a], processes: 65}", "processes is \"65\"; write a whole number from 1 to 64"),
        ("workers:\n  a: {command: [/a], attempts: 0}", "attempts is \"0\"; write a whole number from 1 to 1024"),
        ("workers:\n  a: {command: [/a], limits: 3}", "limits takes limits; write {memory: 2GiB"),
        ("workers:\n  a: {command: [/a], limits: {memory: 1KiB}}", "limits.memory takes a number with a unit"),
        ("workers:\n  a: {command: [/a], limits: {processes: 1}}", "processes is \"1\"; write a whole number from 32"),
        ("workers:\n  a: {command: [/a], limits: {files: 9}}", "unknown key \"workers.a.limits.files\""),
        ("workers:\n  a: {command: [/a], environment: {A=B: c}}", "environment has a variable without a valid name"),
        ("workers:\n  a: {command: [/a], environment: {A: [c]}}", "environment.A takes one string; put it in quotes"),
        ("workers:\n  a: {command: [/a], settings: 3}", "settings takes the settings of the program"),
        ("workers:\n  a: {command: [/a], settings: {b: .nan}}", "is not a JSON number"),
        ("wrokers: {}", "halyard.yaml:1: unknown key \"wrokers\"; did you mean \"workers\"?"),
    ])
    func aWrongWorkerIsRefusedWithItsLine(yaml: String, told: String) throws {
        let problems = try problems(yaml)
        #expect(problems.count == 1 && problems[0].contains(told), "\(problems)")
    }

    @Test func onlyTheFileNamesWorkers() throws {
        #expect(
            try problems(environment: ["HALYARD_WORKERS": "a"])
                == ["HALYARD_WORKERS: workers is a group of programs; name them in the configuration file"])
    }

    // MARK: What is refused

    @Test(arguments: [
        ("slot: 4", "halyard.yaml:1: unknown key \"slot\"; did you mean \"slots\"?"),
        ("\nuplaod:\n  roots: []", "halyard.yaml:2: unknown key \"uplaod\"; did you mean \"upload\"?"),
        ("upload:\n  rots: []", "halyard.yaml:2: unknown key \"upload.rots\"; did you mean \"upload.roots\"?"),
        (
            "upload: 3",
            "halyard.yaml:1: upload is a group of keys; write them indented under it: upload.credentials, upload.checkpoints, upload.roots, upload.credential_origins, upload.max_size, upload.chunk_size, upload.part_size, upload.memory, upload.max_rate"
        ),
        ("slots:", "halyard.yaml:1: slots has no value; give one, or remove the line"),
        ("slots: [1]", "halyard.yaml:1: slots takes one value, not a list"),
        ("slots: {a: 1}", "halyard.yaml:1: slots takes one value, not keys under it"),
        ("slots: 0", "halyard.yaml:1: slots is \"0\"; write a whole number from 1 to 10000"),
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
            "definitions: etc/definitions.yaml",
            "halyard.yaml:1: definitions is \"etc/definitions.yaml\"; write a path that begins with /, or \"\" for none"
        ),
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

    /// A worker's refusal of one entry names the line of that entry.
    @Test func aRefusalOfAWorkerIsToldWithItsLine() throws {
        let text = """
            network:
              ports:
                - 0
                - 80
                - no
            slots: 3
            """
        let configuration = try load(text, environment: ["HALYARD_UNFURL_TIMEOUT": "soon"])
        func told(_ key: String, _ entry: Int? = nil) -> String {
            configuration.sentence(SettingRefusal(key: key, entry: entry, message: "is wrong"))
        }
        #expect(told("network.ports").hasSuffix("halyard.yaml:2: network.ports is wrong"))
        #expect(told("network.ports", 2).hasSuffix("halyard.yaml:5: network.ports is wrong"))
        #expect(told("unfurl.timeout") == "HALYARD_UNFURL_TIMEOUT: unfurl.timeout is wrong")
        #expect(try problems("network:\n  ports:\n    - {a: 1}\n").count == 1)
    }

    /// A job must be over before another daemon runs it. An SQLite file has only one daemon.
    @Test func theGracePeriodMustFitIntoTheLease() {
        func found(_ grace: Int, _ url: String?, _ purpose: ConfigurationCheck.Purpose) -> [String] {
            var configuration = DaemonConfiguration()
            configuration.databaseURL = url
            configuration.lease = .seconds(10)
            configuration.grace = .seconds(grace)
            return ConfigurationCheck(configuration, for: purpose).errors.filter { $0.hasPrefix("grace: ") }
        }
        let url = "postgresql:///jobs"
        for purpose in [ConfigurationCheck.Purpose.reload, .start(opensSocket: false)] {
            #expect(found(5, url, purpose).first?.hasPrefix("grace: 5s is too long for daemon.lease, 10s: ") == true)
            #expect(found(5, url, purpose).first?.hasSuffix("; use at most 4s, or raise daemon.lease") == true)
            #expect(found(4, url, purpose).isEmpty)
            #expect(found(5, nil, purpose).isEmpty)
        }
    }

    @Test func aHomeIsOnlyForADatabaseOnAServer() {
        func found(_ url: String?) -> [String] {
            var configuration = DaemonConfiguration()
            configuration.databaseURL = url
            configuration.home = "/"
            return ConfigurationCheck(configuration, for: .reload).errors
        }
        #expect(found(nil).first?.hasPrefix("home: the files of an SQLite database are in its folder; ") == true)
        #expect(found("postgresql:///jobs").isEmpty)
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
