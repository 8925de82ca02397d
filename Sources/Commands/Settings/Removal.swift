import Control
import Jobs

/// Removes what is named, one after the other, and says so: the verb `remove` of queues, definitions and schedules.
struct Removal {
    let common: CommonOptions
    let surroundings: Surroundings

    init(_ common: CommonOptions, _ surroundings: Surroundings) {
        self.common = common
        self.surroundings = surroundings
    }

    func remove(_ names: [String], _ remove: (String, Session) async throws -> Void) async throws -> ExitCode {
        try await Session.with(common, for: .writing, in: surroundings) { session in
            for name in names {
                try await remove(name, session)
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
