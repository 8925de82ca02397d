import CalendarEvents

/// Written as `{name: nightly, calendar: "*-*-* 03:00", definition: save-link, input: {…}, queue: …, priority: …,
/// persistent: true, overlap: skip, summary: …}`.
///
/// Only `calendar`, which may be a list, and `definition` are required. `name` is also required unless it is the key in
/// a map.
extension Schedule: JSONShaped {
    /// The names of all fields, in the order in which they are written.
    package static let fieldNames = [
        "name", "summary", "calendar", "definition", "input", "queue", "priority", "persistent", "overlap",
    ]

    /// Parses a schedule that contains its own name.
    ///
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        try self.init(json: json, name: nil, at: path)
    }

    /// Parses a schedule.
    ///
    /// - Parameter name: The schedule's key in a map; its field `name` must then be absent or the same. Nil outside of
    ///   a map.
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, name: String?, at path: [String]) throws(ShapeProblem) {
        try self.init(json: json, name: name, at: path, allowsNoTimes: false)
    }

    /// Parses a schedule, optionally one without calendar expressions.
    ///
    /// - Parameter allowsNoTimes: Whether the list of expressions may be empty, as in a record whose stored form is
    ///   invalid.
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    package init(
        json: JSONText, name: String?, at path: [String], allowsNoTimes: Bool
    ) throws(ShapeProblem) {
        let fields = try JSONFields(json, at: path, known: Self.fieldNames)
        self.init(
            name: try readName(fields, key: name), summary: try fields.string("summary"),
            calendar: try Self.readCalendar(fields, allowsNoTimes: allowsNoTimes),
            definition: try fields.required("definition", fields.string("definition")),
            input: try fields.objectText("input"), queue: try fields.string("queue"),
            priority: try fields.priority("priority"), isPersistent: try fields.boolean("persistent") ?? false,
            overlap: try fields.word("overlap", of: Overlap.allCases.map { ($0.rawValue, $0) }) ?? .skip)
    }

    private static func readCalendar(
        _ fields: JSONFields, allowsNoTimes: Bool
    ) throws(ShapeProblem) -> [CalendarExpression] {
        let value = try fields.required("calendar", fields["calendar"])
        let isList = value.shape == .array
        let elements = isList ? try fields.elements("calendar") ?? [] : [value]
        if elements.isEmpty, !allowsNoTimes {
            throw fields.problem("calendar", "the list is empty; write at least one expression")
        }
        if elements.count > Schedule.maxExpressions {
            throw fields.problem(
                "calendar",
                "the list has \(elements.count) expressions; the limit is \(Schedule.maxExpressions), so split it into several schedules"
            )
        }
        var expressions: [CalendarExpression] = []
        for (index, element) in elements.enumerated() {
            let path = fields.path + ["calendar"] + (isList ? ["\(index)"] : [])
            guard let text = element.decodedString else {
                throw ShapeProblem(
                    path: path,
                    message:
                        "expected an expression in quotes, such as \"Mon *-*-* 09:00\", found \(JSONFields.found(element))"
                )
            }
            do throws(CalendarProblem) {
                expressions.append(try CalendarExpression(text))
            } catch {
                throw ShapeProblem(path: path, message: error.description)
            }
        }
        return expressions
    }

    /// The JSON that ``init(json:at:)`` parses; fields without a value are left out.
    public var json: JSONText {
        var object = JSONObject()
        object.append("name", JSONText(string: name))
        if let summary { object.append("summary", JSONText(string: summary)) }
        object.append("calendar", JSONText(elements: calendar.map { JSONText(string: $0.description) }))
        object.append("definition", JSONText(string: definition))
        if let input { object.append("input", input) }
        if let queue { object.append("queue", JSONText(string: queue)) }
        if let priority { object.append("priority", JSONText(string: priority.name)) }
        object.append("persistent", JSONText(boolean: isPersistent))
        object.append("overlap", JSONText(string: overlap.rawValue))
        return object.text
    }
}
