import Foundation

/// `curl --unix-socket`, as a user runs it.
struct Curl: Sendable {
    struct Answer: Sendable {
        var status: Int
        var type: String
        var body: String
    }

    let socket: String

    func callAsFunction(_ arguments: String..., input: String? = nil) async throws -> Answer {
        let output = try await run(
            [
                "--silent", "--show-error", "--max-time", "60", "--unix-socket", socket, "--write-out",
                "\n%{http_code} %{content_type}",
            ]
                + arguments.map { $0.hasPrefix("/v1") ? "http://localhost" + $0 : $0 }, input)
        guard let lineFeed = output.lastIndex(of: "\n") else { throw TestFailure("curl said: \(output)") }
        let facts = output[output.index(after: lineFeed)...].split(separator: " ", maxSplits: 1)
        return Answer(
            status: Int(facts[0]) ?? 0, type: facts.count > 1 ? String(facts[1]) : "", body: String(output[..<lineFeed])
        )
    }

    private func run(_ arguments: [String], _ input: String?) async throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments = arguments
        let output = Pipe()
        let entry = Pipe()
        process.standardOutput = output
        process.standardInput = entry
        process.standardError = output
        try process.run()
        let writer = entry.fileHandleForWriting
        let bytes = Data((input ?? "").utf8)
        // The pipe holds little; curl reads while it writes. Blocking calls get threads of their own: those of Dispatch run tasks.
        Thread.detachNewThread {
            // curl may be done before it has read everything, which its answer shows.
            try? writer.write(contentsOf: bytes)
            try? writer.close()
        }
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                let data = output.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(returning: String(decoding: data, as: UTF8.self))
            }
        }
    }
}
