import ArgumentParser
import ControlProtocol
import Jobs

extension JobID {
    init?(argument: String) {
        guard let number = Int64(argument), number > 0 else { return nil }
        self.init(number)
    }

    @Sendable static func read(_ text: String) throws -> JobID {
        if let id = JobID(argument: text) { return id }
        throw UnreadableArgument(description: "give a job's number, such as 41" + hint(for: text))
    }

    /// Returns a hint for a caller who names a whole graph, as listings do, where a job is expected.
    fileprivate static func hint(for text: String) -> String {
        guard text.hasPrefix("graph:"), let graph = GraphID(argument: text) else { return "" }
        return "; to see the jobs of this graph: halyard graph \(graph.rawValue)"
    }
}

extension GraphID {
    /// Parses `7` or `graph:7`.
    init?(argument: String) {
        let digits = argument.hasPrefix("graph:") ? argument.dropFirst(6) : argument[...]
        guard let number = Int64(digits), number > 0 else { return nil }
        self.init(number)
    }

    @Sendable static func read(_ text: String) throws -> GraphID {
        if let id = GraphID(argument: text) { return id }
        throw UnreadableArgument(description: "give a graph's number, such as 7")
    }
}

extension JobState: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }
    public var defaultValueDescription: String { name }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    public static var allValueDescriptions: [String: String] { [:] }
}

extension Outcome: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }
    public var defaultValueDescription: String { name }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    public static var allValueDescriptions: [String: String] { [:] }
}

extension Priority: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
    public var defaultValueDescription: String { name }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    public static var allValueDescriptions: [String: String] { [:] }
}

/// An argument whose form is not valid.
struct UnreadableArgument: Error, CustomStringConvertible {
    /// Describes the valid forms, with examples.
    var description: String
}

/// A duration as people write it. It is a separate type, since `Duration` belongs to the standard library.
struct DurationArgument: Hashable, CustomStringConvertible {
    var duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let duration = Duration(human: argument) else { return nil }
        self.duration = duration
    }

    @Sendable static func read(_ text: String) throws -> DurationArgument {
        if let argument = DurationArgument(argument: text) { return argument }
        throw UnreadableArgument(description: "give numbers with ms, s, m, h or d, such as 30s, 5m, 1h30m or 2d")
    }

    var description: String { duration.human }
}

/// A job to wait for: `41`, or `41:finished`.
struct AfterArgument: Hashable {
    var job: JobID
    var condition: DependencyCondition

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let job = JobID(argument: String(parts[0])) else { return nil }
        self.job = job
        guard parts.count == 2 else {
            condition = .succeeded
            return
        }
        guard let condition = DependencyCondition(name: parts[1]) else { return nil }
        self.condition = condition
    }

    @Sendable static func read(_ text: String) throws -> AfterArgument {
        if let argument = AfterArgument(argument: text) { return argument }
        throw UnreadableArgument(
            description: "give a job's number, such as 41, or 41:finished" + JobID.hint(for: text))
    }
}

/// A job (`41`) or a whole graph (`graph:7`).
enum WorkArgument: Hashable {
    case job(JobID)
    case graph(GraphID)

    init?(argument: String) {
        if argument.hasPrefix("graph:") {
            guard let id = GraphID(argument: argument) else { return nil }
            self = .graph(id)
        } else {
            guard let id = JobID(argument: argument) else { return nil }
            self = .job(id)
        }
    }

    @Sendable static func read(_ text: String) throws -> WorkArgument {
        if let work = WorkArgument(argument: text) { return work }
        throw UnreadableArgument(description: "give a job's number, such as 41, or a graph's as graph:7")
    }

    /// The text that a person types for this work.
    var name: String {
        switch self {
        case .job(let id): "\(id)"
        case .graph(let id): "graph:\(id.rawValue)"
        }
    }

    var scope: WatchScope {
        switch self {
        case .job(let id): .job(id)
        case .graph(let id): .graph(id)
        }
    }

    /// The job; nil for a graph.
    var job: JobID? {
        if case .job(let id) = self { id } else { nil }
    }
}
