import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Jobs
import NIOCore
import OperationTypes

/// Accepts one submission as JSON, or many as JSON lines.
struct EnqueueRoutes: Sendable {
    private let control: any JobControl
    private let background = BackgroundExecutor(named: "halyard-requests")

    init(control: any JobControl) { self.control = control }

    /// Large enough for a graph of 100,000 jobs in one submission.
    private static let maxSubmissionBytes = 16 << 20

    func add(to routes: inout RouteTable) {
        routes.on(.post, "jobs") { request, context in
            let type = request.headers[.contentType]?.split(separator: ";").first.map { $0.lowercased() }
            guard type == "application/x-ndjson" || type == "application/jsonl" else {
                return try await enqueueOne(request, context.body)
            }
            if request.headers[.idempotencyKey] != nil {
                throw ControlProblem(
                    .invalidRequest, "Idempotency-Key applies to a single submission; give each line its own \"key\".")
            }
            return enqueueLines(context.body)
        }
    }

    private static let largeBytes = 64 << 10

    private func enqueueOne(_ request: Request, _ body: BodyReader) async throws -> Response {
        let bytes = try await body.collect(limit: Self.maxSubmissionBytes)
        guard bytes.count > Self.largeBytes else { return try await enqueueOne(request, bytes) }
        defer { FreedMemory.returnToSystemSoon() }
        return try await withTaskExecutorPreference(background) { try await enqueueOne(request, bytes) }
    }

    private func enqueueOne(_ request: Request, _ bytes: [UInt8]) async throws -> Response {
        var submission = try Submission(request: bytes, limit: Self.maxSubmissionBytes)
        if let key = request.headers[.idempotencyKey] {
            guard submission.key == nil || submission.key == key else {
                throw ControlProblem(.invalidRequest, "\"key\" and Idempotency-Key differ. Send only one of them.")
            }
            submission.key = key
        }
        guard let answer = try await control.enqueue([submission]).first else {
            throw ControlProblem.noResponse
        }
        switch answer {
        case .enqueued(let receipt): return response(answer, receipt, .created)
        case .duplicate(let receipt): return response(answer, receipt, .ok)
        case .refused(let problem): return problem.response
        }
    }

    private func response(
        _ answer: SubmissionAnswer, _ receipt: EnqueueReceipt, _ status: HTTPResponse.Status
    ) -> Response {
        var response = Response(bytes: answer.json.line, status: status)
        response.headers[.location] =
            receipt.graph.map { "/v1/graphs/\($0)" } ?? receipt.jobs.first.map { "/v1/jobs/\($0)" }
        return response
    }

    /// Passes the lines that have arrived to the store in one call, so that they share a commit.
    private func enqueueLines(_ body: BodyReader) -> Response {
        body.willBeReadWithAnswer()
        return .lines { writer in
            // Reading and planning many lines would delay the other callers on the connection's event loop.
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                let lines = ArrivingLines(parse: EnqueueRoutes.parse)
                async let reading: Void = lines.read(body.chunks, limit: JSONText.maxBytes)
                while let parsed = try await lines.next() {
                    let answer = await answer(parsed)
                    try await writer.write(ByteBuffer(bytes: answer.bytes))
                    // Leaving the scope cancels the reading.
                    if !answer.canGoOn { return }
                }
                await reading
            }
        }
    }

    /// - Returns: An answer line for each submission. If the daemon cannot continue, every line of the batch
    ///   gives the reason.
    private func answer(
        _ parsed: [Result<Submission, ControlProblem>]
    ) async -> (bytes: [UInt8], canGoOn: Bool) {
        var canGoOn = true
        var accepted: ArraySlice<SubmissionAnswer>
        let submissions = parsed.compactMap { try? $0.get() }  // the failures are answered below
        do {
            accepted = try await control.enqueue(submissions)[...]
            // If a line fails for such a reason, the store also refuses the lines after it. The caller sends
            // them again, so the request ends here without accepting more.
            canGoOn = !accepted.contains { answer in
                if case .refused(let problem) = answer { !problem.isRefusal } else { false }
            }
        } catch {
            accepted = Array(repeating: .refused(error), count: submissions.count)[...]
            canGoOn = false
        }
        var bytes: [UInt8] = []
        for line in parsed {
            let answer: SubmissionAnswer =
                switch line {
                case .success:
                    accepted.popFirst() ?? .refused(.noResponse)
                case .failure(let problem): .refused(problem)
                }
            bytes += answer.json.line
        }
        return (bytes, canGoOn)
    }

    private static func parse(_ line: LineSplitter.Line) -> Result<Submission, ControlProblem> {
        guard case .whole(let bytes) = line else {
            return .failure(
                ControlProblem(
                    .tooLarge,
                    "The line is longer than \(JSONText.maxBytes) bytes. Send it as JSON, in a separate request.")
            )
        }
        do {
            return .success(try Submission(json: JSONText(checking: bytes)))
        } catch let problem as ShapeProblem {
            return .failure(ControlProblem(problem))
        } catch {
            return .failure(ControlProblem(.invalidRequest, "The line is invalid: \(error)."))
        }
    }
}

extension HTTPField.Name {
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
