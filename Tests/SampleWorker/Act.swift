import Glibc
import Jobs
import OperationTypes

/// A failure that a test chooses.
struct ChosenFailure: OperationFailure {
    var code: String
    var description: String
    var isRetryable = false
    var wait: Int?

    var retryAfter: Duration? { wait.map { .milliseconds($0) } }
}

/// Does one of several things that a test chooses.
struct Act: Kind {
    struct Input: Codable {
        var action: String
        var text: String?
        var number: Int?
    }
    typealias Output = JSONText
    typealias Failure = ChosenFailure

    static let name = "act"
    static let summary = "Does what a test asks for"
    static let inputFields = [
        InputField("action", .string, isRequired: true, summary: "the action"),
        InputField("number", .integer, range: 0...9_000_000, summary: "a number"),
        InputField("text", .string, summary: "a text"),
    ]
    static let checksInputs = false
    static let cleansUp = false

    func run(_ input: Input, context: OperationContext) async throws(ChosenFailure) -> JSONText { .null }

    func run(_ input: Input, job: JobContext) async throws(ChosenFailure) -> JSONText {
        let number = input.number ?? 0
        switch input.action {
        case "fail":
            throw ChosenFailure(code: "chosen", description: input.text ?? "", isRetryable: true, wait: input.number)
        case "wait":
            if let text = input.text { log(text) }
            job.operation.report(OperationProgress(completed: 1, unit: "waiting"))
            await untilCancelled(job.operation.cancellation)
            let would = job.wouldEnd(with: ChosenFailure(code: "chosen", description: "", isRetryable: true))
            throw ChosenFailure(
                code: "stopped", description: "for good: \(job.isStoppedForGood), would end: \(would)")
        case "would end":
            let failure = ChosenFailure(code: "chosen", description: "", isRetryable: true)
            return JSONText(boolean: job.wouldEnd(with: failure))
        case "hang":
            job.operation.report(OperationProgress(completed: 1, unit: "hanging"))
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        case "crash": fatalError("a test asked for this")
        case "print":
            print(input.text ?? "")
            var byte: UInt8 = 0
            return JSONText(integer: read(0, &byte, 1))
        case "progress":
            for completed in 1...number {
                job.operation.report(
                    OperationProgress(completed: Int64(completed), total: Int64(number), unit: "steps"))
            }
            await untilCancelled(job.operation.cancellation)
        case "children":
            for index in 0..<number {
                job.enqueue(ChildJob(definition: "child\(index)", input: input.text.map { JSONText(string: $0) }))
            }
        case "connect", "connect and wait":
            let entry = ConnectionLog.current?.begin(
                method: "GET", origin: "https://example.org", address: "192.0.2.1:443")
            entry?.update { $0.status = 200 }
            if input.action == "connect" { break }
            job.operation.report(OperationProgress(completed: 1, unit: "waiting"))
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        case "checkpoint": return job.checkpoint ?? JSONText(string: "none")
        case "save", "save at once":
            return await save(input.number ?? 1, atOnce: input.action == "save at once", job)
        case "save and leave": saveAndLeave(job)
        case "size": return JSONText(string: String(repeating: "x", count: number - 2))
        case "nul": return JSONText(trusted: Array(#""\u0000""#.utf8))
        case "fail with nul": throw ChosenFailure(code: "nul", description: "a\0b")
        default: throw ChosenFailure(code: "unknown_action", description: input.action)
        }
        return .null
    }

    private func log(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    private func untilCancelled(_ token: CancellationToken) async {
        await withUnsafeContinuation { continuation in _ = token.register { continuation.resume() } }
    }
}
