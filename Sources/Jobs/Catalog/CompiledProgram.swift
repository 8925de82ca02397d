extension Definition {
    /// The facts with which a database decides whether the definition's program can run with an input; nil for another
    /// kind. In the sentences, U+0001 and U+0002 represent the values in parentheses.
    ///
    /// - `input`: the definition's own input.
    /// - `fields`: `name` and `default` of each field, and the sentences about a list: `empty` if the field is
    ///   required, `too_many` (number), `not_a_string` (type, position) and `spooled` (position).
    /// - `arguments`: for each argument, the name of the `list` whose strings become arguments, or `pieces`. A piece is
    ///   a `text`, or a `field` with the sentence `wrong` about a value that cannot be an argument (type). `option` is
    ///   the sentence about a value that must not begin with a dash (position); `too_long` is about an argument that is
    ///   too long (size, position).
    var compiledProgram: JSONText? {
        guard let program else { return nil }
        var compiled = JSONObject()
        compiled.append("input", JSONObject(input) == nil ? .emptyObject : input)
        compiled.append("fields", JSONText(elements: (program.fields ?? []).map(\.compiled)))
        compiled.append("arguments", JSONText(elements: program.compiledArguments))
        return compiled.text
    }
}

extension ProgramField {
    fileprivate var compiled: JSONText {
        var object = JSONObject()
        object.append("name", JSONText(string: name))
        if let fallback { object.append("default", fallback) }
        if isList {
            let (first, second) = (EnqueueWords.first, EnqueueWords.second)
            let problems: [(String, ProgramInputProblem)] =
                (field.isRequired ? [("empty", .emptyList(name))] : []) + [
                    ("too_many", .tooManyStrings(name, count: first)),
                    ("not_a_string", .notAString(name, found: first, place: second)),
                    ("spooled", .spooledFileInList(name, place: first)),
                ]
            for (key, problem) in problems { object.append(key, JSONText(string: problem.description)) }
        }
        return object.text
    }
}

extension ProgramDefinition {
    fileprivate var compiledArguments: [JSONText] {
        var areOptionsOver = false
        return arguments.map { argument in
            if argument.pieces == [.text("--")] { areOptionsOver = true }
            var object = JSONObject()
            let name = argument.fieldNames.first ?? ""
            let isList = isList(name)
            if let only = argument.onlyField, isList {
                object.append("list", JSONText(string: only))
            } else {
                object.append("pieces", JSONText(elements: argument.pieces.map(\.compiled)))
            }
            if argument.beginsWithValue, !areOptionsOver {
                let problem = ProgramInputProblem.readAsOption(field: name, place: isList ? EnqueueWords.first : nil)
                object.append("option", JSONText(string: problem.description))
            }
            let problem = ProgramInputProblem.tooLong(
                field: name, place: isList ? EnqueueWords.second : nil, bytes: EnqueueWords.first)
            object.append("too_long", JSONText(string: problem.description))
            return object.text
        }
    }
}

extension ProgramArgument.Piece {
    fileprivate var compiled: JSONText {
        var object = JSONObject()
        switch self {
        case .text(let text): object.append("text", JSONText(string: text))
        // No caller chooses the path of the result file.
        case .output: object.append("text", JSONText(string: ""))
        case .field(let name):
            object.append("field", JSONText(string: name))
            let problem = ProgramInputProblem.notAnArgument(field: name, found: EnqueueWords.first)
            object.append("wrong", JSONText(string: problem.description))
        }
        return object.text
    }
}
