import ArgumentParser
import ControlProtocol
import Jobs

/// A value that is parsed from the text of an argument.
protocol ParsedArgument: Sendable {
    init?(argument: String)

    /// Describes the valid forms, with examples, to somebody who typed something else.
    static func remedy(for text: String) -> String
}

extension ParsedArgument {
    @Sendable static func read(_ text: String) throws -> Self {
        if let value = Self(argument: text) { return value }
        throw ArgumentProblem(description: remedy(for: text))
    }
}

/// An argument whose form is not valid.
struct ArgumentProblem: Error, CustomStringConvertible {
    /// Describes the valid forms, with examples.
    var description: String
}

extension JobID: ParsedArgument {
    init?(argument: String) {
        guard let number = Int64(argument), number > 0 else { return nil }
        self.init(number)
    }

    static func remedy(for text: String) -> String { "give a job's number, such as 41" + graphHint(for: text) }

    /// Returns a hint for a caller who names a whole graph, as listings do, where a job is expected.
    fileprivate static func graphHint(for text: String) -> String {
        guard text.hasPrefix("graph:"), let graph = GraphID(argument: text) else { return "" }
        return "; to see the jobs of this graph: halyard graph \(graph.rawValue)"
    }
}

extension GraphID: ParsedArgument {
    /// Parses `7` or `graph:7`.
    init?(argument: String) {
        let digits = argument.hasPrefix("graph:") ? argument.dropFirst(6) : argument[...]
        guard let number = Int64(digits), number > 0 else { return nil }
        self.init(number)
    }

    static func remedy(for text: String) -> String { "give a graph's number, such as 7" }
}

extension Duration: ParsedArgument {
    init?(argument: String) { self.init(human: argument) }

    static func remedy(for text: String) -> String {
        "give numbers with ms, s, m, h or d, such as 30s, 5m, 1h30m or 2d"
    }
}

extension DaemonLimit: ParsedArgument {
    init?(argument: String) { self.init(text: argument) }

    static func remedy(for text: String) -> String {
        "give a whole number, such as 4, or \(unlimitedName) to remove this limit"
    }
}

/// A choice that is typed by its name.
protocol NamedArgument: ExpressibleByArgument, CaseIterable {
    var name: String { get }
}

extension NamedArgument {
    public var defaultValueDescription: String { name }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    public static var allValueDescriptions: [String: String] { [:] }
}

extension JobState: NamedArgument {
    public init?(argument: String) { self.init(name: argument) }
}

extension Outcome: NamedArgument {
    public init?(argument: String) { self.init(name: argument) }
}

extension Priority: NamedArgument {
    public init?(argument: String) { self.init(argument) }
}

/// A job to wait for: `41`, or `41:finished`.
struct AfterArgument: Hashable, ParsedArgument {
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

    static func remedy(for text: String) -> String {
        "give a job's number, such as 41, or 41:finished" + JobID.graphHint(for: text)
    }
}

/// A job (`41`) or a whole graph (`graph:7`).
enum WorkArgument: Hashable, ParsedArgument {
    case job(JobID)
    case graph(GraphID)

    init?(argument: String) {
        let work =
            argument.hasPrefix("graph:")
            ? GraphID(argument: argument).map(Self.graph) : JobID(argument: argument).map(Self.job)
        guard let work else { return nil }
        self = work
    }

    static func remedy(for text: String) -> String { "give a job's number, such as 41, or a graph's as graph:7" }

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
