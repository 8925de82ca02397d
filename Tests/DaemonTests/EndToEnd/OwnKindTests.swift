import Jobs
import Logging
import OperationTypes
import Programs
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

@Suite struct OwnKindTests {
    @Test(.timeLimit(.minutes(1)))
    func aDaemonOfOnesOwnRunsItsKinds() async throws {
        let bed = try TestBed()
        let (handles, ready) = AsyncStream.makeStream(of: DaemonHandle.self)
        let surroundings = surroundings(kinds: [Greet()]) { ready.yield($0) }
        let configuration = configuration(bed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Daemon.run(configuration, in: surroundings) }
            var iterator = handles.makeAsyncIterator()
            let handle = try #require(await iterator.next())
            let document = try bed.folder.write("definitions:\n  greet: {kind: greet}\n", to: "mine.yaml")
            let applied = try await bed.halyard("definitions", "apply", document)
            #expect(applied.status == .exited(0), "\(applied.errors)")
            #expect(try await bed.halyard("enqueue", "greet", "Ada", "--wait").status == .exited(0))
            #expect(try await bed.halyard("result", "1").output.contains("Hello, Ada!"))
            #expect(try await bed.halyard("enqueue", "greet", "", "--wait").status != .exited(0))
            #expect(try await bed.halyard("show", "2").output.contains("the name is empty; give one"))
            handle.stop()
            try await group.waitForAll()
        }
    }

    @Test func twoKindsOfOneNameAreRefused() async throws {
        let bed = try TestBed()
        let surroundings = surroundings(kinds: [Greet(), Greet()]) { _ in }
        await #expect(throws: KindRegistryError.duplicate("greet")) {
            try await Daemon.run(configuration(bed), in: surroundings)
        }
        #expect(DaemonFailure(KindRegistryError.duplicate("greet")).status == .configuration)
    }

    /// What is printed is what is tried.
    @Test func theExampleOfTheReadmeIsTheOneTriedHere() throws {
        let here = try readText(#filePath).get()
        let begin = try #require(here.firstRange(of: "struct Greet"))
        let end = try #require(here[begin.lowerBound...].firstRange(of: "\n}\n"))
        let readme = try readText(repository + "/README.md").get()
        #expect(readme.contains(here[begin.lowerBound..<end.upperBound]))
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
        surroundings.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        surroundings.onReady = onReady
        return surroundings
    }
}
