/// The reason why a submission cannot be enqueued. Nothing was written.
///
/// `job` is the name of the job's node, or its position in the list of jobs, such as `#3`. It is nil if there is only
/// one job.
public enum RequestProblem: Error, Hashable, Sendable {
    /// The list of jobs is empty.
    case noJobs
    /// The submission has this many jobs, more than ``Submission/maxJobs``.
    case tooManyJobs(Int)
    /// No definition has this name.
    case unknownDefinition(String, job: String?, known: [String])
    /// The definition exists but cannot be used, for this `reason`.
    case refusedDefinition(String, job: String?, reason: String)
    /// A listed job names a graph definition instead of a definition.
    case graphDefinition(String, job: String?)
    /// No queue has this name.
    case unknownQueue(String, job: String?, known: [String])
    /// The input does not fit the kind.
    case badInput(InputProblem, job: String?)
    /// The jobs and edges do not form a graph.
    case badGraph(GraphProblem)
    /// The submission lists its jobs but also has its own input.
    case inputForJobs
    /// The name of the graph has this many bytes; 1 to 255 are allowed.
    case badGraphName(bytes: Int)
    /// The idempotency key has this many bytes; 1 to 255 are allowed.
    case badKey(bytes: Int)
    /// A text contains a hidden character. `field` names the text, such as "the key".
    case hiddenCharacter(HiddenCharacter, field: String)
    /// The wait before the start is negative or longer than 36,500 days.
    case waitOutOfRange
    /// The name is neither a parameter of the graph definition nor a `node.field`.
    case unknownParameter(String, graph: String, known: [String])
    /// A field is given twice, for example as a parameter and as `node.field`.
    case givenTwice(String)
    /// More values were given by position than there are fields or parameters.
    case tooManyArguments(given: Int, takes: [String])
    /// The text of an argument is not a value of the field's shape.
    case badArgument(String, expected: InputField.Shape)
}

extension RequestProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noJobs:
            "the graph has no jobs; give at least one"
        case .tooManyJobs(let count):
            "the submission has \(count) jobs; the limit is \(Submission.maxJobs). Split it, and let the later parts depend on jobs of the earlier parts"
        case .unknownDefinition(let name, let job, let known):
            Self.label(job) + NearestName.unknown("definition", name, among: known, listing: "there are")
        case .refusedDefinition(let name, let job, let reason):
            Self.label(job) + "\"\(name)\" cannot be used: \(reason)"
        case .graphDefinition(let name, let job):
            Self.label(job) + "\"\(name)\" is a graph; enqueue it by itself, or use a definition"
        case .unknownQueue(let name, let job, let known):
            Self.label(job) + NearestName.unknown("queue", name, among: known, listing: "the queues are")
        case .badInput(let problem, let job):
            Self.label(job) + problem.description
        case .badGraph(let problem):
            problem.description
        case .inputForJobs:
            "\"input\" is allowed only with a definition; give each job of the graph its own input"
        case .badGraphName(let bytes):
            "the graph's name has \(bytes) bytes; use 1 to \(Submission.maxNameBytes)"
        case .badKey(let bytes):
            "the key has \(bytes) bytes; use 1 to \(Submission.maxNameBytes)"
        case .hiddenCharacter(let character, let field):
            "\(field) contains \(character); remove it"
        case .waitOutOfRange:
            "the wait must be between 0s and 36500d"
        case .unknownParameter(let name, let graph, let known):
            NearestName.unknown("parameter", name, among: known, listing: "\"\(graph)\" takes")
        case .givenTwice(let name):
            "\"\(name)\" is given twice; give it once"
        case .tooManyArguments(let given, let takes):
            takes.isEmpty
                ? "arguments are not accepted (found \(given))"
                : "\(given) arguments were given; the maximum is \(takes.count) (\(takes.joined(separator: ", ")))"
        case .badArgument(let name, let expected):
            "\"\(name)\" must be \(expected.phrase)" + (expected.isText ? " in JSON" : "")
        }
    }

    /// The path of the faulty field within the schedule whose work cannot be enqueued.
    var path: [String] {
        switch self {
        case .unknownDefinition(_, nil, _), .refusedDefinition(_, nil, _), .graphDefinition(_, nil): ["definition"]
        case .unknownQueue: ["queue"]
        case .badInput(let problem, nil): problem.path
        case .unknownParameter(let name, _, _), .givenTwice(let name): ["input", name]
        default: []
        }
    }

    private static func label(_ job: String?) -> String { job.map { "\(GraphProblem.called($0)): " } ?? "" }
}

extension InputField.Shape {
    /// Whether people write values of this shape as JSON.
    var isText: Bool { self == .object || self == .array }
}

extension Submission {
    /// The maximum number of jobs in one submission.
    public static let maxJobs = 100_000
    /// The maximum size of a key and of a graph's name.
    static let maxNameBytes = 255
    static let longestWait = Duration.seconds(36_500 * 86_400)
}
