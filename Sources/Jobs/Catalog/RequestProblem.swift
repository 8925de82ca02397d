/// Why a submission cannot be enqueued as it was asked for. Nothing was written.
///
/// A job is named by its node, or by its place among the jobs, `#3`; nil where there is only one.
public enum RequestProblem: Error, Hashable, Sendable {
    case noJobs
    case tooManyJobs(Int)
    case unknownDefinition(String, job: String?, known: [String])
    /// It is stored but cannot be used; `reason` says why.
    case refusedDefinition(String, job: String?, reason: String)
    /// A job of an own graph names a graph definition.
    case graphDefinition(String, job: String?)
    case unknownQueue(String, job: String?, known: [String])
    case badInput(InputProblem, job: String?)
    case badGraph(GraphProblem)
    /// The submission's own input goes with a definition, not with an own graph of jobs.
    case inputForJobs
    case badGraphName(bytes: Int)
    case badKey(bytes: Int)
    /// `field` names the text that contains it, such as "the key".
    case hiddenCharacter(HiddenCharacter, field: String)
    case waitOutOfRange
    /// For a graph definition: neither a parameter nor a `node.field`.
    case unknownParameter(String, graph: String, known: [String])
    /// A field is given in two ways, e.g. as a parameter and as `node.field`.
    case givenTwice(String)
    case tooManyArguments(given: Int, takes: [String])
    /// The text of an argument is no value of the field's shape.
    case badArgument(String, expected: InputField.Shape)
}

extension RequestProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noJobs:
            "the graph has no jobs; give at least one"
        case .tooManyJobs(let count):
            "one submission has \(count) jobs; at most \(Submission.maxJobs) are taken. Split it, and let the later parts depend on jobs of the earlier ones"
        case .unknownDefinition(let name, let job, let known):
            Self.label(job) + NearestName.unknown("definition", name, among: known, listing: "there are")
        case .refusedDefinition(let name, let job, let reason):
            Self.label(job) + "\"\(name)\" cannot be used: \(reason)"
        case .graphDefinition(let name, let job):
            Self.label(job) + "\"\(name)\" is a graph; enqueue it by itself, or name a definition"
        case .unknownQueue(let name, let job, let known):
            Self.label(job) + NearestName.unknown("queue", name, among: known, listing: "the queues are")
        case .badInput(let problem, let job):
            Self.label(job) + problem.description
        case .badGraph(let problem):
            problem.description
        case .inputForJobs:
            "\"input\" goes with a definition; give each job of the graph its own input"
        case .badGraphName(let bytes):
            "the graph's name has \(bytes) bytes; give 1 to \(Submission.maxNameBytes)"
        case .badKey(let bytes):
            "the key has \(bytes) bytes; give 1 to \(Submission.maxNameBytes)"
        case .hiddenCharacter(let character, let field):
            "\(field) contains \(character); remove that"
        case .waitOutOfRange:
            "the wait must be between 0s and 36500d"
        case .unknownParameter(let name, let graph, let known):
            NearestName.unknown("parameter", name, among: known, listing: "\"\(graph)\" takes")
        case .givenTwice(let name):
            "\"\(name)\" is given twice; give it once"
        case .tooManyArguments(let given, let takes):
            takes.isEmpty
                ? "no arguments are taken, but \(given) were given"
                : "at most \(takes.count) arguments are taken (\(takes.joined(separator: ", "))), but \(given) were given"
        case .badArgument(let name, let expected):
            "\"\(name)\" must be \(expected.phrase)" + (expected.isText ? " in JSON" : "")
        }
    }

    private static func label(_ job: String?) -> String { job.map { "\(GraphProblem.called($0)): " } ?? "" }
}

extension InputField.Shape {
    /// Whether a person writes it as JSON.
    var isText: Bool { self == .object || self == .array }
}

extension Submission {
    /// The most jobs of one submission, which are written whole or not at all and hold up every other write meanwhile.
    public static let maxJobs = 100_000
    /// The most bytes of a key, and of a graph's name.
    static let maxNameBytes = 255
    static let longestWait = Duration.seconds(36_500 * 86_400)
}
