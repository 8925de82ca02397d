import Foundation
import Programs

/// A server program that a test starts, waits for, and ends.
package struct Program {
    package struct NotStarted: Error {
        var output: String
    }

    /// The output of the program up to the time when it was ready.
    package let output: String

    /// Runs `body` once the program has printed `sign`, and then ends the program.
    package static func with<T>(
        _ path: String, _ arguments: [String], until sign: String, _ body: (Program) async throws -> T
    ) async throws -> T {
        // Merges standard output and standard error.
        let process = try ChildProcess(
            "sh", ["-c", #"exec "$0" "$@" 2>&1"#, path] + arguments, environment: ProcessInfo.processInfo.environment)
        do {
            let isReady = await process.output.first(containing: sign) != nil
            let output = process.output.text
            guard isReady else { throw NotStarted(output: output) }
            let result = try await body(Program(output: output))
            await process.stop()
            return result
        } catch {
            await process.stop()
            throw error
        }
    }

    /// The address that the program printed after `sign`.
    package func address(after sign: String) -> String {
        String((output.components(separatedBy: sign).dropFirst().first ?? "").prefix { !$0.isWhitespace })
    }

    /// Returns the path of a program that `scripts/test` has installed for the tests or that is in PATH.
    package static func find(_ name: String) -> String? {
        let folders =
            ["\(repository)/.build/test-servers/bin"]
            + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The folder of `Package.swift`.
    private static let repository = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
}
