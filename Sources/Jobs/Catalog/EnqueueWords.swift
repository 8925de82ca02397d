/// The sentences of refusals with markers for the parts that differ, so that a database can refuse in the same words.
///
/// A marker is a control character, which no sentence contains: U+0001 for the first part, and so on.
package enum EnqueueWords {
    package static let first = "\u{1}"
    package static let second = "\u{2}"
    package static let third = "\u{3}"
    /// A number in the place of ``first``.
    private static let number = 987_654_321

    // MARK: Unknown names

    /// The sentences about an unknown name, which is the first part.
    package struct Unknown {
        /// If no known name is similar, and they cannot be listed.
        package let plain: String
        /// The second part is the most similar name.
        package let nearest: String
        /// The second part lists the known names.
        package let listed: String

        /// - Parameter problem: Returns the description of the problem with these known names.
        fileprivate init(_ problem: ([String]) -> String) {
            let list = "a name that is similar to no other"
            plain = problem([])
            // Two texts of one character are similar.
            nearest = problem([second])
            listed = problem([list]).replacing(list, with: second)
        }
    }

    package static let definition = Unknown {
        RequestProblem.unknownDefinition(first, job: nil, known: $0).description
    }
    package static let queue = Unknown { RequestProblem.unknownQueue(first, job: nil, known: $0).description }
    package static let field = Unknown { InputProblem.unknownField(first, known: $0).description }
    /// The third part is the graph definition.
    package static let parameter = Unknown {
        RequestProblem.unknownParameter(first, graph: third, known: $0).description
    }

    // MARK: Requests

    package static let givenTwice = RequestProblem.givenTwice(first).description
    package static let badKey = withNumber(RequestProblem.badKey(bytes: number).description)
    package static let waitOutOfRange = RequestProblem.waitOutOfRange.description
    /// The first part is the job that depends, the second the number of the other job.
    package static let dependsTwice = RequestProblem.badGraph(
        .dependsTwice(node: "job \(first)", on: "job \(second)")
    ).description.replacing("job \(first)", with: first)
    /// How messages call the node whose name is the first part.
    package static let node = GraphProblem.called(first)
    /// The first part is a hidden character.
    package static let hiddenInKey: String = {
        // The description of a character ends with its sort.
        let character = HiddenCharacter(in: "\u{7F}")!
        return RequestProblem.hiddenCharacter(character, field: "the key").description
            .replacing(character.description, with: first)
    }()
    package static let keyReused = EnqueueProblem.keyUsedForAnotherRequest(key: first).description
    package static let unknownDependency = withNumber(
        EnqueueProblem.unknownDependency(JobID(Int64(number))).description)

    /// The first part is the value, as a JSON string.
    package static let badPriority: String = {
        var object = JSONObject()
        object["priority"] = JSONText(string: "x")
        do throws(ShapeProblem) {
            _ = try JSONFields(object).priority("priority")
            preconditionFailure("x is not a priority")
        } catch {
            return error.description.replacing("\"x\"", with: first)
        }
    }()
    package static let priorities = Priority.allCases.map { (name: $0.name, number: $0.rawValue) }

    // MARK: Inputs

    /// The first part is the type of the value.
    package static let notAnObject = InputProblem.notAnObject(found: .null).description
        .replacing(JSONShape.null.phrase, with: first)
    package static let tooLarge = withNumber(InputProblem.tooLarge(bytes: number).description)
    package static let tooDeep = JSONProblem.tooDeep(limit: JSONText.maxDepth).description
    /// Messages call a number that is not a whole number so.
    package static let anotherNumber: String = {
        let start = InputProblem.wrongShape(field: first, expected: .integer, found: .null).description
            .replacing(JSONShape.null.phrase, with: "")
        return String(
            InputProblem.wrongShape(field: first, expected: .integer, found: .number).description
                .dropFirst(start.count))
    }()
    /// How a message lists a job with the type that it offers.
    package static let offer = "job \(first) offers \(second)"
    /// The number of offers that a message lists at most.
    package static let maxOffers = GraphProblem.maxOffers
    static let offerMarker = GraphProblem.Offer(node: "job \(first)", type: second)

    /// An input names files of several daemons.
    package static let severalHomes =
        "The input names files in the spools of several daemons, so no daemon can run the job. Send all files to one daemon."
    package static let unknownHome = EnqueueProblem.unknownHome("").description

    /// The JSON types as messages call them, by their names.
    package static let phrases = JSONShape.allCases.map { (name: $0.name, phrase: $0.phrase) }

    // MARK: Limits

    package static let maxNameBytes = Submission.maxNameBytes
    package static let longestWaitMs = Submission.longestWait.milliseconds
    package static let maxDepth = JSONText.maxDepth
    package static let maxStrings = ProgramField.maxElements
    package static let maxArgumentBytes = ProgramDefinition.maxArgumentBytes
    /// The number of characters of a value that a message quotes.
    package static let excerptLength = HiddenCharacter.excerptLength

    private static func withNumber(_ text: String) -> String { text.replacing("\(number)", with: first) }
}

extension JSONShape {
    static let allCases: [JSONShape] = [.null, .boolean, .number, .string, .array, .object]

    /// The name of the type, as PostgreSQL's `jsonb_typeof` returns it.
    var name: String { "\(self)" }
}
