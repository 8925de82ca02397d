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
            var place = problem.path.dropFirst(base.count)
            // What the fields of a policy mean depends on the others.
            if place.first == "retry" { place = place.prefix(1) }
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

    /// Leaves out what stands at a place, or the nearest thing around it that can be left out. Nil when there is none.
    private static func without(_ place: ArraySlice<String>, in json: JSONText) -> JSONText? {
        guard let name = place.first, var object = JSONObject(json), let value = object[name] else { return nil }
        object[name] = without(place.dropFirst(), in: value)
        return object.text
    }
}
