import Control
import Jobs

/// The verb `remove` of queues, definitions and schedules: removes the given names one after the other, and
/// prints each.
struct Removal {
    /// What these verbs do if a removal is refused; part of their help.
    static let promise = """
        Of several, all names are looked up first: where one is unknown, nothing is removed. They then go one after the \
        other; where one is refused, those before it are gone, which is said.
        """

    let common: CommonOptions
    let surroundings: Surroundings

    init(_ common: CommonOptions, _ surroundings: Surroundings) {
        self.common = common
        self.surroundings = surroundings
    }

    /// - Parameter known: Returns the names of all existing entries, such as all queues.
    func remove(
        _ noun: String, _ names: [String], known: (any JobControl) async throws -> [String],
        _ remove: (String, any JobControl) async throws -> Void
    ) async throws -> ExitCode {
        try await Session.with(common, for: .writing, in: surroundings) { session in
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
                            "Removed before it: \(removed.joined(separator: ", ")). The others stay.")
                    }
                    throw failure
                }
                removed.append(name)
                if !common.json { try surroundings.note("removed \(name)") }
            }
            if common.json {
                var answer = JSONObject()
                answer["removed"] = JSONText(elements: names.map { JSONText(string: $0) })
                try surroundings.output.json(answer.text)
            }
            try session.noteWritten(in: surroundings)
            return .success
        }
    }
}

extension [String] {
    fileprivate var uniqued: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
