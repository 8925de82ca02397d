import ControlProtocol

/// Counts the answers to many lines, and says what to do about the remaining lines when the daemon cannot
/// continue.
struct LineTally {
    private(set) var enqueued = 0
    /// Lines whose keys were used before for the same submission.
    private(set) var duplicates = 0
    private(set) var refused = 0

    mutating func count(_ answer: SubmissionAnswer) {
        switch answer {
        case .enqueued: enqueued += 1
        case .duplicate: duplicates += 1
        case .refused: refused += 1
        }
    }

    /// `2 lines enqueued, 1 was there already, 3 refused`
    var text: String {
        var parts = ["\(AmountText.count(enqueued, "line")) enqueued"]
        if duplicates > 0 { parts.append("\(duplicates) \(duplicates == 1 ? "was" : "were") there already") }
        if refused > 0 { parts.append("\(refused) refused") }
        return parts.joined(separator: ", ")
    }

    /// - Parameter last: The last line of the batch that was sent. The daemon has not seen the lines after it.
    func stopped(by problem: ControlProblem, from line: Int, to last: Int) -> CommandFailure {
        let again =
            switch problem.code {
            case .unknownOutcome, .internal:
                "\(line == last ? "Line \(line)" : "Lines \(line) to \(last)") may have been enqueued; the following lines were not. Lines with a key are safe to send again; check the others first with: halyard list"
            // Nothing was done, or each line has a key.
            default: "Then send the lines from \(line) on again: nothing is enqueued twice."
            }
        var failure = CommandFailure(problem)
        failure.message = "line \(line) and the following lines: \(problem.message)"
        failure.details.append("Before line \(line): \(text). \(again)")
        return failure
    }

    func stopped(at line: Int, longerThan limit: Int) -> CommandFailure {
        CommandFailure(
            .data,
            "line \(line) is longer than \(AmountText.bytes(Int64(limit))); this line and the following lines were not enqueued. Split it.",
            details: ["Before line \(line): \(text). Then send the lines from \(line) on again."])
    }
}
