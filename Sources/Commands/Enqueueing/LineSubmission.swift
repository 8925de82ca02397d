import ControlProtocol
import Jobs

/// Enqueues one submission for each line, and prints one answer for each, in order.
///
/// The lines of one read are sent as one batch, so that a file is fast and a slow pipe is answered at once. An
/// invalid line does not affect other lines, unless it exceeds the maximum length. A long line, such as a graph
/// of 100,000 jobs, is sent alone.
struct LineSubmission {
    var session: Session

    /// The daemon's limit for one submission.
    private static let lineLimit = 16 << 20
    private static let batchSize = 4000

    func submit(_ file: InputFile) async throws -> ExitCode {
        var reader = LineReader(file.reader, limit: Self.lineLimit)
        var rest: ArraySlice<LineReader.Line> = []
        var tally = LineTally()
        var batch = try next(from: &reader, &rest)
        while let current = batch {
            async let answers = answers(to: current)
            // On a single thread, the lines are sent only when this task yields.
            await Task.yield()
            // Read and check the next lines in the meantime, unless that would block: the answers to sent lines
            // come first.
            let isReady = !rest.isEmpty || reader.isReady
            let following = isReady ? Result { try next(from: &reader, &rest) } : nil
            for (line, answer) in zip(current.lines, try await answers) {
                // The problem does not concern this line. The daemon carried out neither this line nor the
                // following ones.
                if case .refused(let problem) = answer, !problem.isRefusal {
                    throw tally.stopped(by: problem, from: line.number, to: current.lines.last?.number ?? line.number)
                }
                tally.count(answer)
                try report(answer, line.number)
            }
            try session.output.flush()
            try session.surroundings.errors.flush()
            batch = try following?.get() ?? next(from: &reader, &rest)
        }
        if tally.enqueued > 0 { try await session.noteWritten(willRun: true) }
        if let line = reader.tooLong { throw tally.stopped(at: line, longerThan: Self.lineLimit) }
        if tally.refused > 0 {
            try session.note("\(tally.text); correct the refused lines and send only those again")
            return .data
        }
        if tally.duplicates > 0 { try session.note("\(tally.text)") }
        return .success
    }

    /// Lines that are sent together.
    private struct Batch {
        var lines: ArraySlice<LineReader.Line>
        /// The content of each line, or the reason why it is not sent.
        var contents: [Result<JSONText, ControlProblem>]
    }

    /// - Parameter rest: Lines that were read but are not in a batch yet.
    private func next(
        from reader: inout LineReader, _ rest: inout ArraySlice<LineReader.Line>
    ) throws -> Batch? {
        if rest.isEmpty { rest = try reader.next().map { $0[...] } ?? [] }
        if rest.isEmpty { return nil }
        let short = rest.prefix(Self.batchSize).prefix { $0.bytes.count <= JSONText.maxBytes }
        let lines = short.isEmpty ? rest.prefix(1) : short
        rest = rest.dropFirst(lines.count)
        return Batch(lines: lines, contents: lines.map(Self.check))
    }

    /// Returns one answer for each line, in order.
    private func answers(to batch: Batch) async throws -> [SubmissionAnswer] {
        let submissions = batch.contents.compactMap { try? $0.get() }  // `contents` keeps the errors.
        var given: ArraySlice<SubmissionAnswer> = []
        if !submissions.isEmpty {
            do throws(ControlProblem) {
                given = try await session.control.enqueue(json: submissions)[...]
            } catch {
                given = Array(repeating: .refused(error), count: submissions.count)[...]
            }
        }
        guard given.count == submissions.count else {
            throw CommandFailure(
                .software,
                "The daemon answered \(given.count) of \(submissions.count) submissions. Check with: halyard list")
        }
        return batch.contents.map { content in
            switch content {
            case .success: given.removeFirst()
            case .failure(let problem): .refused(problem)
            }
        }
    }

    private static func check(_ line: LineReader.Line) -> Result<JSONText, ControlProblem> {
        do {
            return .success(try JSONText(checking: line.bytes, limit: lineLimit))
        } catch {
            return .failure(ControlProblem(.invalidRequest, "\(error). Each line is one JSON object."))
        }
    }

    private func report(_ answer: SubmissionAnswer, _ number: Int) throws {
        switch answer {
        case .enqueued(let receipt), .duplicate(let receipt):
            if !session.isJSON { try session.output.line("\(receipt.jobs.map(\.description).joined(separator: " "))") }
            if let text = receipt.skippedText {
                try session.surroundings.errors.line("halyard: line \(number): " + text)
            }
        case .refused(let problem):
            try session.surroundings.errors.line("\("halyard:", .red) line \(number): \(problem.message)")
            for detail in problem.details { try session.surroundings.errors.line("  \(detail)") }
            if problem.code == .outsideRoots {
                try session.surroundings.errors.line(
                    "  --lines cannot copy files. Enqueue it separately: halyard enqueue NAME --input FILE --copy")
            }
        }
        if session.isJSON { try session.output.json(answer.json) }
    }
}
