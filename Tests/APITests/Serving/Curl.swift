import Programs

/// Runs `curl --unix-socket`.
struct Curl: Sendable {
    struct Answer: Sendable {
        var status: Int
        var type: String
        var body: String
    }

    let socket: String

    func callAsFunction(_ arguments: String..., input: String = "") async throws -> Answer {
        let (_, output, errors) = try await ChildProcess.run(
            "curl",
            [
                "--silent", "--show-error", "--max-time", "300", "--unix-socket", socket, "--write-out",
                "\n%{http_code} %{content_type}",
            ] + arguments.map { $0.hasPrefix("/v1") ? "http://localhost" + $0 : $0 }, input: input)
        guard let lineFeed = output.lastIndex(of: "\n") else { throw TestFailure("curl said: \(errors)") }
        let facts = output[output.index(after: lineFeed)...].split(separator: " ", maxSplits: 1)
        guard let status = Int(facts[0]), status > 0 else { throw TestFailure("curl said: \(errors)") }
        return Answer(
            status: status, type: facts.count > 1 ? String(facts[1]) : "", body: String(output[..<lineFeed]))
    }
}
