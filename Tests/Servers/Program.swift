import Foundation
import Programs

/// A server from elsewhere that a test starts, waits for, and ends.
package struct Program {
    package struct NotStarted: Error {
        var output: String
    }

    /// What it had written when it was ready.
    package let output: String

    /// Runs `body` beside a program that has written `sign`.
    package static func with<T>(
        _ path: String, _ arguments: [String], until sign: String, _ body: (Program) async throws -> T
    ) async throws -> T {
        // What it writes, wherever, in one.
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

    /// The address that it wrote after `sign`.
    package func address(after sign: String) -> String {
        String((output.components(separatedBy: sign).dropFirst().first ?? "").prefix { !$0.isWhitespace })
    }

    /// The program of that name: among those that `scripts/test` installs for the tests, or in PATH.
    package static func find(_ name: String) -> String? {
        let folders =
            ["\(repository)/.build/test-servers/bin"]
            + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The folder of Package.swift.
    private static let repository = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
}
