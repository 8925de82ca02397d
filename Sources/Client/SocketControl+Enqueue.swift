import ControlProtocol
import Glibc
import Jobs
import NIOCore
import NIOHTTP1

extension SocketControl {
    public func enqueue(_ submissions: [Submission]) async throws(ControlProblem) -> [SubmissionAnswer] {
        switch submissions.count {
        case 0: return []
        case 1: return [try await enqueueOne(submissions[0])]
        default: return try await enqueue(json: submissions.map(\.json))
        }
    }

    /// Sends the submissions without parsing them; the daemon parses and checks them.
    public func enqueue(json submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer] {
        // The daemon limits the length of a line, so a longer submission is sent as a single request.
        if submissions.count == 1, submissions[0].bytes.count > JSONText.maxBytes {
            let submission: Submission
            do {
                submission = try Submission(json: submissions[0])
            } catch {
                return [.refused(ControlProblem(error))]
            }
            return [try await enqueueOne(submission)]
        }
        return try await enqueueLines(submissions)
    }

    /// Adds a unique key to a submission without one, so that it can be sent again when the daemon restarts or crashes
    /// before it answers.
    private func enqueueOne(_ submission: Submission) async throws(ControlProblem) -> SubmissionAnswer {
        var submission = submission
        let hasOwnKey = submission.key == nil
        if hasOwnKey { submission.key = Self.newKey() }
        var call = Call(.post, "jobs").with(submission.json)
        call.hasHiddenKey = hasOwnKey
        let answer = try await exchange(call)
        if answer.isSuccess {
            let value = try SubmissionAnswer(response: answer.body)
            // The daemon carried out the first try, but its answer was lost.
            if hasOwnKey, case .duplicate(let receipt) = value { return .enqueued(receipt) }
            return value
        }
        let problem = answer.problem
        guard problem.isRefusal else { throw problem }
        return .refused(problem)
    }

    /// Enqueues a new job that repeats a finished one.
    ///
    /// If `key` is nil, the client adds a unique key, so that it can send the request again when the daemon
    /// restarts or crashes before it answers.
    ///
    /// - Throws: `ControlProblem`. After `unknownOutcome`, repeating the call is safe only with a key.
    public func retry(
        _ id: JobID, dependents: Bool, key: String?
    ) async throws(ControlProblem) -> EnqueueReceipt {
        var call = Call(.post, "jobs", "\(id)", "retry").with(
            query: ("dependents", "\(dependents)"), ("key", key ?? Self.newKey()))
        call.hasHiddenKey = key == nil
        return try await value(of: call)
    }

    /// Returns a unique key with 128 random bits. It begins with the time, so that keys created at the same
    /// time are neighbours in the daemon's index and share its pages.
    static func newKey() -> String {
        var moment = timespec()
        clock_gettime(CLOCK_REALTIME, &moment)
        var generator = SystemRandomNumberGenerator()
        let parts = [UInt64(moment.tv_sec), generator.next(), generator.next()]
        return "halyard-" + parts.map { String($0, radix: 36) }.joined(separator: "-")
    }

    /// Sends JSON lines and reads answers at the same time, since the daemon stops reading lines when the
    /// client does not read its answers.
    ///
    /// If the connection is lost, the lines without an answer are sent again, provided that each has a key. If
    /// sending cannot continue, the answers so far are valid, and the other lines are refused with the reason.
    private func enqueueLines(_ submissions: [JSONText]) async throws(ControlProblem) -> [SubmissionAnswer] {
        if submissions.isEmpty { return [] }
        var answers: [SubmissionAnswer] = []
        answers.reserveCapacity(submissions.count)
        var lost = 0
        var loss: (any Error)?
        while true {
            let rest = Array(submissions.dropFirst(answers.count))
            var call = Call(.post, "jobs")
            call.isRepeatable = rest.allSatisfy(\.isKeyedSubmission)
            call.contentType = "application/x-ndjson"
            let more: [SubmissionAnswer]
            let failure: (any Error)?
            do throws(ControlProblem) {
                (more, failure) = try await sendLines(rest, call)
            } catch {
                // The daemon may have carried out the earlier try.
                let problem = loss.map { ControlProblem(during: call, error: $0) } ?? error
                // The first lines keep the answers they already have.
                if answers.isEmpty { throw problem }
                return answers + Array(repeating: .refused(problem), count: rest.count)
            }
            answers += more
            if answers.count == submissions.count { return answers }
            if let failure, call.isRepeatable, ConnectionError.isLoss(failure), lost < Self.maxLost {
                lost = more.isEmpty ? lost + 1 : 0
                loss = failure
                continue
            }
            let reason: ControlProblem =
                if case .refused(let problem)? = answers.last, !problem.isRefusal, failure == nil {
                    problem
                } else {
                    ControlProblem(during: call, error: failure ?? ConnectionError.closed)
                }
            return answers + Array(repeating: .refused(reason), count: submissions.count - answers.count)
        }
    }

    /// - Returns: The answers to the first lines, and the error that prevented the others.
    private func sendLines(
        _ submissions: [JSONText], _ call: Call
    ) async throws(ControlProblem) -> ([SubmissionAnswer], (any Error)?) {
        let lines = LineBatches(submissions: submissions)
        let answer = try await upload(call, chunks: lines, length: nil, takesPart: true)
        guard answer.isSuccess else {
            if let failure = answer.failure { return ([], failure) }
            throw answer.problem
        }
        var answers: [SubmissionAnswer] = []
        answers.reserveCapacity(submissions.count)
        for line in answer.body.split(separator: UInt8(ascii: "\n")).prefix(submissions.count) {
            // If the answer ended early, its last line may be incomplete.
            if answer.failure != nil, line.endIndex == answer.body.endIndex { break }
            if let answer = SubmissionAnswer(oneJob: line) {
                answers.append(answer)
            } else {
                answers.append(try SubmissionAnswer(response: Array(line)))
            }
        }
        return (answers, answer.failure)
    }
}

extension JSONText {
    /// Whether the submission has a key, so that sending it again is harmless.
    fileprivate var isKeyedSubmission: Bool { JSONObject(self)?["key"]?.shape == .string }
}

/// Yields submissions as JSON lines, in chunks of about 64 KiB.
private struct LineBatches: AsyncSequence, Sendable {
    let submissions: [JSONText]

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: submissions[...]) }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<JSONText>

        mutating func next() async -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            var bytes: [UInt8] = []
            while bytes.count < 64 << 10, let submission = rest.popFirst() {
                let start = bytes.endIndex
                bytes.append(contentsOf: submission.bytes)
                // JSON allows line feeds between tokens, but here a line feed ends the submission.
                for index in start..<bytes.endIndex where bytes[index] == UInt8(ascii: "\n") {
                    bytes[index] = UInt8(ascii: " ")
                }
                bytes.append(UInt8(ascii: "\n"))
            }
            return bytes
        }
    }
}
