import Foundation
import Glibc

/// A wall clock for the programs of one test, which sets it while they run: see Tests/SetClock/clock.c.
public final class SetClock: Sendable {
    public struct Failure: Error, CustomStringConvertible { public let description: String }

    /// The environment of a program that uses this clock.
    public let environment: [String: String]
    private let file: String

    /// - Parameter folder: The folder for the clock.
    public init(in folder: String) async throws {
        let source = #filePath.split(separator: "/").dropLast(2).map { "/" + $0 }.joined() + "/SetClock/clock.c"
        let built = try await ChildProcess.run(
            "clang", ["-O1", "-shared", "-fPIC", "-o", folder + "/clock.so", source, "-ldl", "-lpthread"],
            environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""])
        guard built.status == .exited(0) else { throw Failure(description: built.errors) }
        file = folder + "/clock"
        environment = ["LD_PRELOAD": folder + "/clock.so", "HALYARD_CLOCK": file]
        try Self.write(0, to: file)
    }

    /// Sets the clock to the machine's time plus this many seconds.
    public func set(secondsFromNow seconds: Int64) throws { try Self.write(seconds * 1_000_000_000, to: file) }

    /// Writes in place with one call, since the programs have the file mapped.
    private static func write(_ nanoseconds: Int64, to file: String) throws {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(description: "open: \(errno)") }
        defer { close(descriptor) }
        let written = withUnsafeBytes(of: nanoseconds) { pwrite(descriptor, $0.baseAddress, 8, 0) }
        guard written == 8 else { throw Failure(description: "pwrite: \(errno)") }
    }
}
