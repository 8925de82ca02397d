import Control
import Jobs
import NIOCore
import NIOHTTP1

extension SocketControl {
    public func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer] {
        switch submissions.count {
        case 0: return []
        case 1: return [try await enqueueOne(submissions[0])]
        default: return try await enqueueLines(submissions)
        }
    }

    private func enqueueOne(_ submission: Submission) async throws(ControlProblem) -> SubmissionAnswer {
        var call = Call(.POST, "jobs").with(submission.json)
        call.isRepeatable = submission.key != nil
        let answer = try await send(call)
        if answer.isSuccess { return try answer.value() }
        let problem = answer.problem
        guard problem.isRefusal else { throw problem }
        return .refused(problem)
    }

    /// Sends JSON lines, and reads the answers while it still sends: the daemon takes no more than it has answered.
    ///
    /// When it cannot go on, what was answered stands, and the rest is refused with the reason.
    private func enqueueLines(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer] {
        var call = Call(.POST, "jobs")
        call.isRepeatable = submissions.allSatisfy { $0.key != nil }
        call.contentType = "application/x-ndjson"
        let lines = LineBatches(submissions: submissions)
        let answer = try await upload(call, chunks: lines, length: nil, takesPart: true)
        guard answer.isSuccess else { throw answer.problem }
        var answers: [SubmissionAnswer] = []
        answers.reserveCapacity(submissions.count)
        for line in answer.body.split(separator: UInt8(ascii: "\n")).prefix(submissions.count) {
            // The last line of an answer that ended early may be cut.
            if answer.failure != nil, line.endIndex == answer.body.endIndex { break }
            answers.append(try decode(Array(line)))
        }
        if answers.count < submissions.count {
            let reason: ControlProblem =
                if case .refused(let problem)? = answers.last, !problem.isRefusal, answer.failure == nil {
                    problem
                } else {
                    ControlProblem(during: call, error: answer.failure ?? ConnectionEnd.closed)
                }
            answers += Array(repeating: .refused(reason), count: submissions.count - answers.count)
        }
        return answers
    }
}

/// Submissions as JSON lines, in pieces of some size.
private struct LineBatches: AsyncSequence, Sendable {
    let submissions: [Submission]

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: submissions[...]) }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<Submission>

        mutating func next() async -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            var bytes: [UInt8] = []
            while bytes.count < 64 << 10, let submission = rest.popFirst() {
                submission.appendJSON(to: &bytes)
                bytes.append(UInt8(ascii: "\n"))
            }
            return bytes
        }
    }
}
