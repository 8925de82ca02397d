import Control

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
                "\(line == last ? "Line \(line)" : "Lines \(line) to \(last)") may have been enqueued, what follows was not. What has a key can be sent again as it is; look for the rest first, with: halyard list"
            // Nothing was done, or each line has a key.
            default: "Then send again from line \(line): nothing is enqueued twice."
            }
        var failure = CommandFailure(problem)
        failure.message = "line \(line) and what follows: \(problem.message)"
        failure.details.append("Before line \(line): \(text). \(again)")
        return failure
    }

    func stopped(at line: Int, longerThan limit: Int) -> CommandFailure {
        CommandFailure(
            .data,
            "line \(line) is longer than \(AmountText.bytes(Int64(limit))); nothing of it, and nothing behind it, was taken. Divide it.",
            details: ["Before line \(line): \(text). Then send again from line \(line)."])
    }
}
