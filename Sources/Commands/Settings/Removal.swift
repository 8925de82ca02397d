import ControlProtocol
import Jobs

/// The verb `remove` of queues, definitions and schedules: removes the given names one after the other, and
/// prints each.
struct Removal {
    /// The behaviour of these verbs if a removal is refused; part of their help.
    static let promise = """
        All names are looked up first: if one is unknown, nothing is removed. The command then removes one name after the \
        other and stops at the first refusal; the message lists the names already removed.
        """

    private let session: Session

    init(_ session: Session) { self.session = session }

    /// - Parameter known: Returns the names of all existing entries, such as all queues.
    func remove(
        _ noun: String, _ names: [String], known: (any JobControl) async throws -> [String],
        _ remove: (String, any JobControl) async throws -> Void
    ) async throws -> ExitCode {
        let names = names.uniqued
        // A single unknown name is refused by `remove`, whose message is more precise.
        if names.count > 1 { try UnknownName.check(noun, names, among: try await known(session.control)) }
        var removed: [String] = []
        for name in names {
            do {
                try await remove(name, session.control)
            } catch let problem as ControlProblem {
                var failure = CommandFailure(problem)
                if !removed.isEmpty {
                    failure.details.append(
                        "Already removed: \(removed.joined(separator: ", ")). The others were not removed.")
                }
                throw failure
            }
            removed.append(name)
            if !session.isJSON { try session.note("removed \(name)") }
        }
        if session.isJSON {
            var answer = JSONObject()
            answer["removed"] = names.json
            try session.output.json(answer.text)
        }
        try await session.noteWritten()
        return .success
    }
}

extension [String] {
    fileprivate var uniqued: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
