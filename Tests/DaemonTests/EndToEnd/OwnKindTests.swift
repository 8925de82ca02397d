import Glibc
import Jobs
import Logging
import OperationTypes
import Programs
import Settings
import Systemd
import Testing

@testable import Daemon

struct Greet: Kind {
    struct Input: Codable, Sendable { var name: String }
    struct Output: Codable, Sendable { var greeting: String }
    struct Failure: OperationFailure {
        var code: String { "nobody" }
        var isRetryable: Bool { false }
        var description: String { "the name is empty; give one" }
    }

    static let name = "greet"
    static let summary = "Greets somebody"
    static let inputFields = [InputField("name", .string, isRequired: true, summary: "Whom to greet.")]

    func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output {
        if input.name.isEmpty { throw Failure() }
        return Output(greeting: "Hello, \(input.name)!")
    }
}

struct Notify: Kind {
    struct Input: Codable, Sendable {
        var address: String
        var attachment: String?
    }
    struct Output: Codable, Sendable { var bytes: Int }
    struct Failure: OperationFailure {
        var code: String { "unreadable" }
        var isRetryable: Bool { true }
        var description: String { "the attachment cannot be read; check its path" }
    }

    static let name = "notify"
    static let summary = "Sends a file to somebody"
    static let inputFields = [
        InputField("address", .string, isRequired: true, summary: "Whom to notify."),
        InputField("attachment", .string, summary: "Path of the file to send."),
    ]

    func refusal(of input: PlannedInput) -> InputRefusal? {
        guard let address = JSONObject(input.input)?["address"]?.decodedString, !address.contains("@") else {
            return nil
        }
        return InputRefusal("The address \"\(address)\" has no @; write one such as ada@example.org.")
    }

    func blockingCheck(of input: PlannedInput) -> (@Sendable () -> InputRefusal?)? {
        guard input.stage == .whole, let path = JSONObject(input.input)?["attachment"]?.decodedString else {
            return nil
        }
        return { access(path, R_OK) == 0 ? nil : InputRefusal("\(path) cannot be read; check the path.") }
    }

    func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output {
        guard let attachment = input.attachment else { return Output(bytes: 0) }
        guard let file = fopen(attachment, "r") else { throw Failure() }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        return Output(bytes: ftell(file))
    }
}

@Suite struct OwnKindTests {
    @Test(.timeLimit(.minutes(1)))
    func aDaemonOfOnesOwnRunsItsKinds() async throws {
        let bed = try TestBed()
        try await withDaemon(bed, kinds: [Greet()]) {
            let document = try bed.folder.write("definitions:\n  greet: {kind: greet}\n", to: "mine.yaml")
            let applied = try await bed.halyard("definitions", "apply", document)
            #expect(applied.status == .exited(0), "\(applied.errors)")
            #expect(try await bed.halyard("enqueue", "greet", "Ada", "--wait").status == .exited(0))
            #expect(try await bed.halyard("result", "1").output.contains("Hello, Ada!"))
            #expect(try await bed.halyard("enqueue", "greet", "", "--wait").status != .exited(0))
            #expect(try await bed.halyard("show", "2").output.contains("the name is empty; give one"))
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aKindOfOnesOwnRefusesInputsEarly() async throws {
        let bed = try TestBed()
        try await withDaemon(bed, kinds: [Notify()]) {
            let bad = try bed.folder.write(
                "definitions:\n  notify: {kind: notify, input: {address: nobody}}\n", to: "bad.yaml")
            let refused = try await bed.halyard("definitions", "apply", bad)
            #expect(refused.status != .exited(0))
            #expect(refused.errors.contains("The address \"nobody\" has no @; write one such as ada@example.org"))
            let good = try bed.folder.write("definitions:\n  notify: {kind: notify}\n", to: "good.yaml")
            #expect(try await bed.halyard("definitions", "apply", good).status == .exited(0))
            let nobody = try await bed.halyard("enqueue", "notify", "nobody")
            #expect(nobody.errors.contains("The address \"nobody\" has no @"), "\(nobody.errors)")
            let missing = try await bed.halyard("enqueue", "notify", "ada@example.org", "\(bed.folder.path)/missing")
            #expect(missing.errors.contains("missing cannot be read; check the path."), "\(missing.errors)")
            // Neither was accepted.
            #expect(try await bed.halyard("enqueue", "notify", "ada@example.org", good, "--wait").status == .exited(0))
            #expect(try await bed.halyard("result", "1").output.contains("bytes"))
        }
    }

    /// A worker that cannot run keeps only its own jobs waiting: they are not claimed, and all other kinds go on.
    @Test(.timeLimit(.minutes(1)))
    func jobsOfAWorkerThatCannotRunWait() async throws {
        let bed = try TestBed()
        // The database knows the kinds of the worker from an earlier start.
        try await bed.withDaemon { _ in }
        try await withDaemon(bed, kinds: [Greet()], worker: "/nonexistent/halyard-worker") {
            try await bed.enqueue("visit", "\(bed.server.site)/page/1")
            let document = try bed.folder.write("definitions:\n  greet: {kind: greet}\n", to: "mine.yaml")
            #expect(try await bed.halyard("definitions", "apply", document).status == .exited(0))
            for _ in 1...5 {
                #expect(try await bed.halyard("enqueue", "greet", "Ada", "--wait").status == .exited(0))
            }
            #expect(try await bed.ask("SELECT state FROM jobs WHERE job = 1") == "ready")
            // One claim may find out, again after each rest; claims without a limit would make hundreds.
            let attempts = try #require(Int(try await bed.ask("SELECT count(*) FROM attempt WHERE job_id = 1")))
            #expect(attempts < 20, "\(attempts)")
        }
    }

    @Test func twoKindsOfOneNameAreRefused() async throws {
        let bed = try TestBed()
        let surroundings = surroundings(kinds: [Greet(), Greet()]) { _ in }
        await #expect(throws: KindRegistryProblem.duplicate("greet")) {
            try await Daemon.run(configuration(bed), in: surroundings)
        }
        #expect(DaemonFailure(KindRegistryProblem.duplicate("greet")).status == .configuration)
    }

    /// `scripts/worker-example` builds and runs the example.
    @Test func thePrintedExampleIsTheOneThatIsBuilt() throws {
        let example = repository + "/config/examples/workers/greet/"
        let program = try readText(example + "Sources/greet/Greet.swift").get()
        let page = try readText(repository + "/Sources/Daemon/Daemon.docc/WritingAKind.md").get()
        #expect(try readText(repository + "/README.md").get().contains(program))
        #expect(page.contains(program))
        #expect(page.contains(try readText(example + "Package.swift").get()))
        // The tests above run the same kind.
        let here = try readText(#filePath).get()
        let begin = try #require(here.firstRange(of: "struct Greet"))
        let end = try #require(here[begin.lowerBound...].firstRange(of: "\n}\n"))
        #expect(program.contains(here[begin.lowerBound..<end.upperBound]))
    }

    @Test func theExampleOfTheManualIsTheOneTriedHere() throws {
        let here = try readText(#filePath).get()
        let page = try readText(repository + "/Sources/Daemon/Daemon.docc/WritingAKind.md").get()
        for name in ["refusal", "blockingCheck"] {
            let begin = try #require(here.firstRange(of: "    func \(name)"))
            let end = try #require(here[begin.lowerBound...].firstRange(of: "\n    }\n"))
            #expect(page.contains(here[begin.lowerBound..<end.upperBound]))
        }
    }

    /// Runs `body` while a daemon with the kinds runs.
    private func withDaemon(
        _ bed: TestBed, kinds: [any Kind], worker: String = binary("halyard-worker"),
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (handles, ready) = AsyncStream.makeStream(of: DaemonHandle.self)
        var surroundings = surroundings(kinds: kinds) { ready.yield($0) }
        surroundings.builtInWorker = worker
        let configuration = configuration(bed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [surroundings] in try await Daemon.run(configuration, in: surroundings) }
            var iterator = handles.makeAsyncIterator()
            let handle = try #require(await iterator.next())
            try await body()
            handle.stop()
            try await group.waitForAll()
        }
    }

    private func configuration(_ bed: TestBed) -> DaemonConfiguration {
        var configuration = DaemonConfiguration()
        configuration.database = bed.database
        configuration.socket = bed.socket
        configuration.definitions = nil
        return configuration
    }

    private func surroundings(
        kinds: [any Kind], onReady: @escaping @Sendable (DaemonHandle) -> Void
    ) -> DaemonSurroundings {
        var surroundings = DaemonSurroundings()
        surroundings.kinds = kinds
        surroundings.builtInWorker = binary("halyard-worker")
        surroundings.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        surroundings.onReady = onReady
        return surroundings
    }
}
