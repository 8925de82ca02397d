import Jobs

/// Parses the entries of a document and continues after a problem, so that all problems are reported at once.
struct PatientReader {
    /// The maximum number of reported problems. More would not help anybody.
    static let maxProblems = 20

    /// An entry larger than this is parsed only once. Only its first problem is reported; the others appear the next
    /// time.
    static let maxBytesToReadAgain = 256 << 10

    private(set) var problems: [ShapeProblem] = []

    /// Parses an entry repeatedly, each time without the field that caused the last problem, until no new problem is
    /// found.
    ///
    /// - Returns: The last value parsed. It is meaningful only if there are no problems.
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
            // A field that is missing because it was removed here is not a new problem.
            if !told.contains(where: { $0.starts(with: problem.path) }) {
                told.append(problem.path)
                problems.append(problem)
            }
            if guessed.contains(problem.path) || json.bytes.count > Self.maxBytesToReadAgain { return nil }
            let path = problem.path.dropFirst(base.count)
            if let policy = Self.withMendedPolicy(path, in: json), policy != json {
                json = policy
                continue
            }
            if let rest = Self.without(path, in: json) {
                json = rest
                continue
            }
            // A required field is missing. Most fields accept any text, and this text is also a valid calendar
            // expression.
            guard path.count == 1, let name = path.first, var object = JSONObject(json) else { return nil }
            object[name] = JSONText(string: "daily")
            guessed.insert(problem.path)
            json = object.text
        }
        return nil
    }

    /// Parses the entries of a section. Returns those without problems.
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

    /// Replaces a field of a retry policy with a valid value. These fields depend on each other, so removing one could
    /// cause other problems. Nil for every other field.
    private static func withMendedPolicy(_ path: ArraySlice<String>, in json: JSONText) -> JSONText? {
        guard path.first == "retry", let field = path.dropFirst().first, var object = JSONObject(json),
            var policy = object["retry"].flatMap(JSONObject.init)
        else { return nil }
        switch field {
        case "delay": for name in ["delay", "initial", "multiplier", "cap", "delays"] { policy[name] = nil }
        case "initial": policy[field] = JSONText(string: "1ms")
        case "delays" where path.count == 2: policy[field] = JSONText(elements: [JSONText(string: "1s")])
        default: return nil
        }
        object["retry"] = policy.text
        return object.text
    }

    /// Valid values for the elements of lists. One of them replaces an invalid element, so that the rest of the list is
    /// also checked.
    private static let standIns = ["calendar": "daily", "delays": "1s", "on": "timed_out"]

    /// Removes the value at a path, or else the nearest enclosing value that can be removed. Nil if there is none.
    ///
    /// - Parameter list: The name of the field that contains `json`; empty for none.
    private static func without(
        _ path: ArraySlice<String>, in json: JSONText, named list: String = ""
    ) -> JSONText? {
        guard let name = path.first else { return nil }
        if var elements = json.elements {
            guard let index = Int(name), elements.indices.contains(index) else { return nil }
            let rest = path.dropFirst()
            let next =
                rest.isEmpty ? JSONText(string: standIns[list] ?? "x") : without(rest, in: elements[index])
            guard let next, next != elements[index] else { return nil }
            elements[index] = next
            return JSONText(elements: elements)
        }
        guard var object = JSONObject(json), let value = object[name] else { return nil }
        object[name] = without(path.dropFirst(), in: value, named: name)
        return object.text
    }
}
