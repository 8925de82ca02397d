import Control
import Jobs

/// Enqueues one submission for each line, and answers with a line for each, in order.
///
/// What one read gives goes out as one batch, so that a file is fast and a slow pipe is answered at once. A bad line
/// touches no other, unless it is longer than any may be. A long line, such as a graph of 100,000 jobs, goes alone.
struct LineSubmission {
    var session: Session
    var surroundings: Surroundings
    var isJSON: Bool

    /// As much as the daemon takes in one submission.
    private static let lineLimit = 16 << 20
    private static let batchSize = 1000

    func submit(_ file: InputFile) async throws -> ExitCode {
        var reader = LineReader(file.reader, limit: Self.lineLimit)
        var tally = LineTally()
        while let lines = try reader.next() {
            var rest = lines[...]
            while !rest.isEmpty {
                let short = rest.prefix(Self.batchSize).prefix { $0.bytes.count <= JSONText.maxBytes }
                let batch = short.isEmpty ? rest.prefix(1) : short
                rest = rest.dropFirst(batch.count)
                for (line, answer) in try await answers(to: batch) {
                    // Not about this line: it was not answered, and neither are those behind it.
                    if case .refused(let problem) = answer, !problem.isRefusal {
                        throw tally.stopped(by: problem, from: line.number, to: batch.last?.number ?? line.number)
                    }
                    tally.count(answer)
                    try tell(answer, line.number)
                }
                try surroundings.output.flush()
                try surroundings.errors.flush()
            }
        }
        if tally.enqueued > 0 { try session.noteWritten(in: surroundings, willRun: true) }
        if let line = reader.tooLong { throw tally.stopped(at: line, longerThan: Self.lineLimit) }
        if tally.refused > 0 {
            try surroundings.note("\(tally.text); correct the refused lines and send only those again")
            return .data
        }
        if tally.duplicates > 0 { try surroundings.note("\(tally.text)") }
        return .success
    }

    /// One for each line, in order.
    private func answers(
        to lines: ArraySlice<LineReader.Line>
    ) async throws -> [(line: LineReader.Line, answer: SubmissionAnswer)] {
        let read = lines.map { (line: $0, result: Self.read($0)) }
        let submissions = read.compactMap { try? $0.result.get() }  // The errors of the others stay in `read`.
        var given: ArraySlice<SubmissionAnswer> = []
        if !submissions.isEmpty {
            do throws(ControlProblem) {
                given = try await session.control.enqueue(submissions)[...]
            } catch {
                given = Array(repeating: .refused(error), count: submissions.count)[...]
            }
        }
        guard given.count == submissions.count else {
            throw CommandFailure(
                .software,
                "The daemon answered \(given.count) of \(submissions.count) submissions. Check with: halyard list")
        }
        return read.map { line, result in
            switch result {
            case .success: (line, given.removeFirst())
            case .failure(let problem): (line, .refused(problem))
            }
        }
    }

    private static func read(_ line: LineReader.Line) -> Result<Submission, ControlProblem> {
        do {
            return .success(try Submission(json: try JSONText(checking: line.bytes, limit: lineLimit)))
        } catch let problem as JSONProblem {
            return .failure(ControlProblem(.invalidRequest, "\(problem). Each line is one JSON object."))
        } catch let problem as ShapeProblem {
            return .failure(ControlProblem(problem))
        } catch {
            return .failure(ControlProblem(.invalidRequest, "\(error)"))
        }
    }

    private func tell(_ answer: SubmissionAnswer, _ number: Int) throws {
        switch answer {
        case .enqueued(let receipt), .duplicate(let receipt):
            if !isJSON { try surroundings.output.line("\(receipt.jobs.map(\.description).joined(separator: " "))") }
            if let text = receipt.skippedText { try surroundings.errors.line("halyard: line \(number): " + text) }
        case .refused(let problem):
            try surroundings.errors.line("\("halyard:", .red) line \(number): \(problem.message)")
            for detail in problem.details { try surroundings.errors.line("  \(detail)") }
            if problem.code == .outsideRoots {
                try surroundings.errors.line(
                    "  --lines copies no file. Enqueue it by itself: halyard enqueue NAME --input FILE --copy")
            }
        }
        if isJSON { try surroundings.output.json(answer.json) }
    }
}
