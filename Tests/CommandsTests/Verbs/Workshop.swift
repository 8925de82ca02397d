import ControlProtocol
import Foundation
import Jobs

@testable import Commands

/// A real database in its own directory, and runs of the command line against it.
final class Workshop: Sendable {
    let directory: URL
    let stored: TestDatabase
    var database: String { stored.text }
    var socket: String { directory.appending(path: "halyard.sock").path }

    /// Registers the kinds and definitions of the samples.
    init() async throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "halyard-commands-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        stored = try TestDatabase(in: directory)
        let set = Samples.definitions
        try await withStore { store in
            try await store.register(set.kinds, now: Samples.now)
            try await store.change(
                DefinitionChange(
                    queues: [QueueChange(name: "slow", limit: 1)],
                    definitions: set.definitions.map(\.definition).filter { $0.name != "broken" },
                    graphs: set.graphs.map(\.definition)),
                now: Samples.now)
        }
    }

    deinit {
        // A leftover database or temporary directory is harmless.
        try? stored.remove()
        try? FileManager.default.removeItem(at: directory)
    }

    func file(_ name: String, _ text: String) throws -> String {
        let url = directory.appending(path: name)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    func withStore<T>(_ work: (any JobStore) async throws -> T) async throws -> T {
        let (store, close) = try await stored.open()
        let value: T
        do {
            value = try await work(store)
        } catch {
            try await close()
            throw error
        }
        try await close()
        return value
    }

    /// Replaces the texts that differ from run to run.
    func masked(_ text: String) -> String {
        text.replacing(directory.path, with: "DIRECTORY").replacing(stored.name, with: "DIRECTORY/halyard.db")
    }

    /// Claims every ready job and ends its attempt, as a runner would.
    func runReadyJobs(_ ending: @escaping @Sendable (JobID) -> AttemptEnd.Ending) async throws {
        try await withStore { store in
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 100), now: Samples.now).claimed
            let ends = claimed.map { AttemptEnd(lease: $0.lease, ending: ending($0.lease.job)) }
            _ = try await store.exchange(ends, claim: nil, now: Samples.now + .seconds(2))
        }
    }

    struct Run {
        var code: ExitCode
        var output: String
        var errors: String
    }

    func run(_ arguments: String..., input: String? = nil) async throws -> Run {
        try await run(arguments, input: input)
    }

    /// - Parameter input: Standard input; empty if nil.
    func run(
        _ arguments: [String], input: String? = nil, database: String? = nil,
        terminal: (width: Int, height: Int)? = nil, now: Timestamp = Samples.now, output: Capture = Capture(),
        errors: Capture = Capture(), lockPatience: Duration = .milliseconds(20), statusPatience: Duration = .seconds(60)
    ) async throws -> Run {
        // Writing to a pipe could block one of the few threads that the tests share; a file does not.
        let standardInput = try FileHandle(forReadingFrom: URL(filePath: file(UUID().uuidString, input ?? "")))
        let code = await HalyardCommandLine.run(
            arguments + ["--socket", socket, "--database", database ?? self.database],
            in: .captured(
                output: output, errors: errors, input: standardInput.fileDescriptor, terminal: terminal,
                now: now, lockPatience: lockPatience, statusPatience: statusPatience))
        try standardInput.close()
        return Run(code: code, output: output.text, errors: masked(errors.text))
    }
}

/// Stopped clocks, since these tests use the same time for every request.
struct StoppedClock: StoreClock {
    let wall: Timestamp
    var boot: String { "the only one" }
    var sinceBoot: Duration { .seconds(1000) }
}
