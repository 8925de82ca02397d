import Jobs

/// Reads things of a document and goes on after a problem, so that all are told at once.
struct PatientReader {
    /// More are of no use to anybody.
    static let maxProblems = 20

    /// Something larger is read once: what is wrong with it beyond its first problem is told the next time.
    static let maxBytesToReadAgain = 256 << 10

    private(set) var problems: [ShapeProblem] = []

    /// Reads something again and again, each time without what the last problem was about, until nothing new comes up.
    ///
    /// - Returns: What was read in the end; of use only while there are no problems.
    mutating func read<Value>(
        _ json: JSONText, at base: [String], _ make: (JSONText) throws(ShapeProblem) -> Value
    ) -> Value? {
        var json = json
        var told: [[String]] = []
        var guessed: Set<[String]> = []
        while problems.count < Self.maxProblems {
            let problem: ShapeProblem
            do throws(ShapeProblem) {
                return try make(json)
            } catch {
                problem = error
            }
            // That something is missing is no news once it was left out here.
            if !told.contains(where: { $0.starts(with: problem.path) }) {
                told.append(problem.path)
                problems.append(problem)
            }
            if guessed.contains(problem.path) || json.bytes.count > Self.maxBytesToReadAgain { return nil }
            let place = problem.path.dropFirst(base.count)
            if let policy = Self.withMendedPolicy(place, in: json), policy != json {
                json = policy
                continue
            }
            if let rest = Self.without(place, in: json) {
                json = rest
                continue
            }
            // A field that must be there: any name will do, or for times this one.
            guard place.count == 1, let name = place.first, var object = JSONObject(json) else { return nil }
            object[name] = JSONText(string: "daily")
            guessed.insert(problem.path)
            json = object.text
        }
        return nil
    }

    /// The things of a section, without those that have problems.
    mutating func read<Value>(
        section: String, of fields: JSONFields,
        _ make: (JSONText, String?, [String]) throws(ShapeProblem) -> Value
    ) -> [Value] {
        guard let json = fields[section] else { return [] }
        do throws(ShapeProblem) {
            let values: [Value?] = try readNamed(json, at: [section]) { (json, name, path) throws(ShapeProblem) in
                self.read(json, at: path) { (json) throws(ShapeProblem) in try make(json, name, path) }
            }
            return values.compactMap(\.self)
        } catch {
            if problems.count < Self.maxProblems { problems.append(error) }
            return []
        }
    }

    /// What the fields of a retry policy mean depends on the others: where one cannot just be left out, something good takes
    /// its place. Nil for other fields.
    private static func withMendedPolicy(_ place: ArraySlice<String>, in json: JSONText) -> JSONText? {
        guard place.first == "retry", let field = place.dropFirst().first, var object = JSONObject(json),
            var policy = object["retry"].flatMap(JSONObject.init)
        else { return nil }
        switch field {
        case "delay": for name in ["delay", "initial", "multiplier", "cap", "delays"] { policy[name] = nil }
        case "initial": policy[field] = JSONText(string: "1ms")
        case "delays" where place.count == 2: policy[field] = JSONText(elements: [JSONText(string: "1s")])
        default: return nil
        }
        object["retry"] = policy.text
        return object.text
    }

    /// What stands in for an entry of a list, whose others are read on.
    private static let standIns = ["calendar": "daily", "delays": "1s", "on": "timed_out"]

    /// Leaves out what stands at a place, or the nearest thing around it that can be left out. Nil when there is none.
    ///
    /// - Parameter list: The name of `json`, where it has one.
    private static func without(
        _ place: ArraySlice<String>, in json: JSONText, named list: String = ""
    ) -> JSONText? {
        guard let name = place.first else { return nil }
        if var elements = json.elements {
            guard let index = Int(name), elements.indices.contains(index) else { return nil }
            let rest = place.dropFirst()
            let next =
                rest.isEmpty ? JSONText(string: standIns[list] ?? "x") : without(rest, in: elements[index])
            guard let next, next != elements[index] else { return nil }
            elements[index] = next
            return JSONText(elements: elements)
        }
        guard var object = JSONObject(json), let value = object[name] else { return nil }
        object[name] = without(place.dropFirst(), in: value, named: name)
        return object.text
    }
}
