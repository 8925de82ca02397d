import OperationTypes

/// Written as `{tries: 5, delay: exponential, initial: 1s, multiplier: 2, cap: 5m, jitter: full, on: retryable}`.
///
/// | field | meaning | default |
/// | --- | --- | --- |
/// | `tries` | the maximum number of tries, including the first, 1 to 1000 | 5 |
/// | `delay` | `none`, `constant`, `exponential` or `list` | `exponential` |
/// | `initial` | the wait (`constant`), or the first wait (`exponential`) | 1s |
/// | `multiplier` | the factor from one wait to the next (`exponential`), 1 to 100 | 2 |
/// | `cap` | the longest wait (`exponential`) | 5m |
/// | `delays` | the waits, of which the last is repeated (`list`) | |
/// | `jitter` | `none`, or `full` for a random wait between zero and the delay | `full` if exponential, else `none` |
/// | `on` | `retryable`, `any`, or a list of failure codes | `retryable` |
extension RetryPolicy: JSONShaped {
    private enum DelayName: String, CaseIterable { case none, constant, exponential, list }

    /// Parses a policy and checks it.
    ///
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        guard json.shape == .object else {
            throw ShapeProblem(
                path: path, message: "expected an object, found \(json.shape.phrase); write {tries: 5}")
        }
        let fields = try JSONFields(
            json, at: path,
            known: ["tries", "delay", "initial", "multiplier", "cap", "delays", "jitter", "on"],
            renamed: ["attempts": "tries"])
        let delayName =
            try fields.word("delay", of: DelayName.allCases.map { ($0.rawValue, $0) }) ?? .exponential
        let delay = try Self.readDelay(delayName, fields)
        let jitter = try fields.word("jitter", of: [("none", Jitter.none), ("full", Jitter.full)])
        self.init(
            tries: try fields.integer("tries") ?? RetryPolicy.standard.tries, delay: delay,
            jitter: jitter ?? (delayName == .exponential ? .full : .none), failures: try Self.readFailures(fields))
        if let problem { throw ShapeProblem(path: path + problem.path, message: problem.message) }
    }

    private static func readDelay(_ name: DelayName, _ fields: JSONFields) throws(ShapeProblem) -> Delay {
        let owners: [(field: String, delays: [DelayName])] = [
            ("initial", [.constant, .exponential]), ("multiplier", [.exponential]), ("cap", [.exponential]),
            ("delays", [.list]),
        ]
        for (field, delays) in owners where fields[field] != nil && !delays.contains(name) {
            let names = delays.map { "delay: \($0.rawValue)" }.joined(separator: " or ")
            throw fields.problem(field, "is allowed only with \(names), not with delay: \(name.rawValue); remove it")
        }
        switch name {
        case .none:
            return .none
        case .constant:
            return .constant(try fields.required("initial", fields.duration("initial")))
        case .exponential:
            let initial = try fields.duration("initial") ?? .seconds(1)
            return .exponential(
                initial: initial, multiplier: try fields.double("multiplier") ?? 2,
                cap: try fields.duration("cap") ?? max(.seconds(300), initial))
        case .list:
            let elements = try fields.required("delays", fields.elements("delays"))
            var delays: [Duration] = []
            for (index, element) in elements.enumerated() {
                delays.append(try JSONFields.duration(element, at: fields.path + ["delays", "\(index)"]))
            }
            return .list(delays)
        }
    }

    private static func readFailures(_ fields: JSONFields) throws(ShapeProblem) -> Failures {
        guard let on = fields["on"] else { return .retryable }
        switch on.shape {
        case .string:
            return try fields.word("on", of: [("retryable", Failures.retryable), ("any", .any)]) ?? .retryable
        case .array:
            var codes: Set<String> = []
            for (index, element) in (on.elements ?? []).enumerated() {
                guard let code = element.decodedString else {
                    throw ShapeProblem(
                        path: fields.path + ["on", "\(index)"],
                        message: "expected a failure code such as timed_out, found \(JSONFields.found(element))")
                }
                codes.insert(code)
            }
            return .codes(codes)
        default:
            throw fields.problem(
                "on", "expected retryable, any or a list of failure codes, found \(JSONFields.found(on))")
        }
    }

    /// The JSON that ``init(json:at:)`` parses.
    public var json: JSONText {
        var object = JSONObject()
        object.append("tries", JSONText(integer: tries))
        switch delay {
        case .none:
            object.append("delay", JSONText(string: "none"))
        case .constant(let wait):
            object.append("delay", JSONText(string: "constant"))
            object.append("initial", JSONText(string: wait.human))
        case .exponential(let initial, let multiplier, let cap):
            object.append("delay", JSONText(string: "exponential"))
            object.append("initial", JSONText(string: initial.human))
            object.append("multiplier", JSONText(double: multiplier) ?? .null)
            object.append("cap", JSONText(string: cap.human))
        case .list(let delays):
            object.append("delay", JSONText(string: "list"))
            object.append("delays", JSONText(elements: delays.map { JSONText(string: $0.human) }))
        }
        object.append("jitter", JSONText(string: jitter.rawValue))
        switch failures {
        case .retryable: object.append("on", JSONText(string: "retryable"))
        case .any: object.append("on", JSONText(string: "any"))
        case .codes(let codes):
            object.append("on", JSONText(elements: codes.sorted().map { JSONText(string: $0) }))
        }
        return object.text
    }
}
