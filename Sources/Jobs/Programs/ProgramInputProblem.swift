/// The reason why a program cannot run with an input, with the remedy.
public struct ProgramInputProblem: Error, Hashable, CustomStringConvertible {
    public let description: String

    /// Creates a problem from a clause for people that ends with the remedy.
    package init(description: String) { self.description = description }

    /// The clause as a sentence.
    package var sentence: String { description.prefix(1).uppercased() + description.dropFirst() + "." }
}

/// The problems of values. Numbers are passed as text, so that a database can insert them later (``EnqueueWords``).
extension ProgramInputProblem {
    static func notAnArgument(field: String, found: String) -> Self {
        Self(description: "the field \"\(field)\" is \(found), which cannot be an argument")
    }

    static func emptyList(_ field: String) -> Self {
        Self(description: "the list \"\(field)\" is empty; add at least one string")
    }

    static func tooManyStrings(_ field: String, count: String) -> Self {
        Self(
            description:
                "the list \"\(field)\" has \(count) strings; the limit is \(ProgramField.maxElements). Split the job")
    }

    static func notAString(_ field: String, found: String, place: String) -> Self {
        Self(
            description: "the list \"\(field)\" contains \(found) at position \(place); only strings are allowed")
    }

    static func spooledFileInList(_ field: String, place: String) -> Self {
        Self(
            description:
                "the list \"\(field)\" contains a file in the spool at position \(place); hand over each file in a field of the type string"
        )
    }

    /// - Parameter place: The position of the string if the field is a list.
    static func readAsOption(field: String, place: String?) -> Self {
        let value =
            place.map { "the string at position \($0) of the list \"\(field)\"" } ?? "a value of the field \"\(field)\""
        return Self(
            description:
                "\(value) begins with \"-\", so the program would read it as an option; write a value such as ./-name, or put \"--\" or a prefix before {\(field)} in the definition"
        )
    }

    /// - Parameter place: The position of the string if the field is a list.
    static func tooLong(field: String, place: String?, bytes: String) -> Self {
        let value =
            place.map { "the string at position \($0) of the list \"\(field)\"" }
            ?? "the argument with the field \"\(field)\""
        return Self(
            description:
                "\(value) has \(bytes) bytes; the limit for an argument is \(ProgramDefinition.maxArgumentBytes). Let the program read the text from standard input or from a file"
        )
    }
}
