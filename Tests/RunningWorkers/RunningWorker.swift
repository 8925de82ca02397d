import Foundation
import Glibc
import Jobs
import OperationTypes
import Programs
import WorkerProtocol

/// A real worker process, with the test in the place of the daemon.
public final class RunningWorker: Sendable {
    /// The worker ended before it sent the message that the test waits for.
    public struct Ended: Error, CustomStringConvertible { public let description: String }

    public let process: ChildProcess
    private let input: FileHandle

    /// Starts a program of this package.
    public convenience init(_ program: String, _ arguments: [String] = []) throws {
        try self.init(command: [binary(program)] + arguments)
    }

    /// Starts any program.
    public init(command: [String]) throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        input = pipe.fileHandleForWriting
        process = try ChildProcess(
            command[0], Array(command.dropFirst()), reading: pipe.fileHandleForReading.fileDescriptor)
        // The worker has its own copy.
        try pipe.fileHandleForReading.close()
    }

    /// Runs `body` with a worker that has announced its kinds.
    public static func with(
        _ program: String, settings: JSONText = .emptyObject, _ body: (RunningWorker) async throws -> Void
    ) async throws {
        try await with(command: [binary(program)], settings: settings, body)
    }

    /// Runs `body` with a worker that has announced its kinds.
    public static func with(
        command: [String], settings: JSONText = .emptyObject, _ body: (RunningWorker) async throws -> Void
    ) async throws {
        let worker = try RunningWorker(command: command)
        do {
            worker.send(.hello(Hello(version: "test", settings: settings)))
            _ = try await worker.message { if case .kinds = $0 { true } else { false } }
            try await body(worker)
        } catch {
            await worker.process.stop()
            throw error
        }
        await worker.process.stop()
    }

    /// Sends messages with one system call.
    public func send(_ messages: DaemonMessage...) {
        var bytes: [UInt8] = []
        for message in messages { message.append(to: &bytes) }
        write(bytes)
    }

    public func send(line: String) { write(Array((line + "\n").utf8)) }

    private func write(_ bytes: [UInt8]) {
        // The worker may end before it has read everything. The test then sees how it ended.
        try? input.write(contentsOf: Data(bytes))
    }

    public func closeInput() throws { try input.close() }

    /// All messages so far.
    public var messages: [WorkerMessage] {
        get throws { try process.output.all.map { try WorkerMessage(line: Array($0.utf8)) } }
    }

    /// Waits for a message.
    @discardableResult
    public func message(where matches: @escaping @Sendable (WorkerMessage) -> Bool) async throws -> WorkerMessage {
        let found = await process.output.first { line in
            // A line that is not a message cannot be the one that the test waits for.
            (try? WorkerMessage(line: Array(line.utf8))).map(matches) ?? false
        }
        guard let found else { throw Ended(description: "the worker ended: \(process.errors.text)") }
        return try WorkerMessage(line: Array(found.line.utf8))
    }

    /// Waits for the end of an attempt.
    @discardableResult
    public func end(of lease: Lease) async throws -> WorkerMessage {
        try await message { message in
            switch message {
            case .succeeded(let ended, _, _), .failed(let ended, _): ended == lease
            default: false
            }
        }
    }

    /// Runs an attempt and waits for its end.
    @discardableResult
    public func run(_ kind: String, _ input: String, job: Int64 = 1) async throws -> WorkerMessage {
        let lease = Lease.first(of: job)
        send(.run(Run(lease: lease, kind: kind, input: JSONText(trusted: Array(input.utf8)))))
        return try await end(of: lease)
    }

    /// Waits for a progress message of an attempt, as proof that it runs.
    public func progress(of lease: Lease) async throws {
        try await message { if case .progress(lease, _) = $0 { true } else { false } }
    }
}

extension Lease {
    /// The first attempt of a job.
    public static func first(of job: Int64) -> Lease { Lease(job: JobID(job), attempt: 1) }
}
