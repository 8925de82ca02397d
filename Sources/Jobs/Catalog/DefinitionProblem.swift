import CalendarEvents
import OperationTypes

/// Why a queue, a definition or a graph definition cannot be used, and what to do about it.
public struct DefinitionProblem: Error, Hashable, Sendable {
    public enum Subject: Hashable, Sendable {
        case queue(String)
        case definition(String)
        case graph(String)
        case schedule(String)
    }

    public enum Reason: Hashable, Sendable {
        case badName
        case hiddenInSummary(HiddenCharacter)
        /// Definitions and graph definitions share one space of names.
        case duplicate
        case tooManyQueues
        case tooManySchedules
        case tooManyDefinitions(Int)
        /// All definitions together would be.
        case tooLarge(bytes: Int)
        case limitOutOfRange(Int)
        case weightOutOfRange(Int)
        case unknownKind(String, known: [String])
        case unknownQueue(String, known: [String])
        case badRetryPolicy(RetryProblem)
        case badTimeout(Duration)
        case badInput(InputProblem)
        case noNodes
        /// What is stored is not what this release writes.
        case unreadable(String)
        case badGraph(GraphProblem)
        case badNode(String, NodeReason)
        case badParameter(String, ParameterReason)
        case unknownRemoval(known: [String])
        /// A schedule could not enqueue what it names.
        case badWork(RequestProblem)
        case unknownZone(ZoneProblem)
        /// The schedule has no time at all, ever.
        case neverComes
    }

    /// What is wrong with one node of a graph definition.
    public enum NodeReason: Hashable, Sendable {
        case unknownDefinition(String, known: [String])
        case refusedDefinition(String)
        case removedDefinition(String)
        case graphDefinition(String)
        case unknownQueue(String, known: [String])
        case badInput(InputProblem)
    }

    public enum ParameterReason: Hashable, Sendable {
        case badName
        case duplicate
        case unknownNode(String, known: [String])
        case unknownField(String, node: String, known: [String])
        /// Another parameter stands for the same field.
        case sameField(as: String)
    }

    public var subject: Subject
    public var reason: Reason

    public init(_ subject: Subject, _ reason: Reason) {
        self.subject = subject
        self.reason = reason
    }
}

extension DefinitionProblem: CustomStringConvertible {
    /// `definition "upload": unknown kind "uplod"; did you mean "upload"?`
    public var description: String {
        if case .schedule = subject, reason == .duplicate {
            return "\(subject): the name is used twice; rename one of them"
        }
        return "\(subject): \(reason)"
    }
}

extension DefinitionProblem.Subject: CustomStringConvertible {
    public var name: String {
        switch self {
        case .queue(let name), .definition(let name), .graph(let name), .schedule(let name): name
        }
    }

    public var description: String {
        switch self {
        case .queue(let name): "queue \"\(name)\""
        case .definition(let name): "definition \"\(name)\""
        case .graph(let name): "graph \"\(name)\""
        case .schedule(let name): "schedule \"\(name)\""
        }
    }
}

extension DefinitionProblem.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .badName: "the name is not allowed; \(Names.nameRule)"
        case .hiddenInSummary(let character): "summary: it contains \(character); remove that"
        case .duplicate:
            "the name is used twice; definitions and graphs share one space of names, so rename one of them"
        case .tooManyQueues: "there are \(QueueSettings.maxCount) queues, and no more are made; use one of those"
        case .tooManySchedules:
            "there are \(Schedule.maxCount) schedules, and no more are made; remove one or change one"
        case .tooManyDefinitions(let count):
            "with it there are \(count) definitions and graphs; at most \(DefinitionSet.maxCount) are kept, so remove some first"
        case .tooLarge(let bytes):
            "with it all definitions, graphs and schedules have \(bytes) bytes of JSON; at most \(DefinitionSet.maxBytes) are kept, so make inputs smaller or remove some first"
        case .limitOutOfRange(let limit): "limit: expected 1 to \(QueueSettings.maxLimit), found \(limit)"
        case .weightOutOfRange(let weight): "weight: expected 1 to \(QueueSettings.maxWeight), found \(weight)"
        case .unknownKind(let kind, let known):
            NearestName.unknown("kind", kind, among: known, listing: "the kinds are")
        case .unknownQueue(let queue, let known): unknownQueueMessage(queue, known)
        case .badRetryPolicy(let problem): "retry.\(problem.field): \(problem.message)"
        case .badTimeout(let timeout):
            "timeout: expected 1ms to 365d, found \(timeout.human); leave it out for no limit"
        case .badInput(let problem): "input: \(problem)"
        case .noNodes: "it has no nodes; add at least one"
        case .unreadable(let reason): "what is stored cannot be read (\(reason)); apply the definition anew"
        case .badGraph(let problem): problem.description
        case .badNode(let node, let reason): "node \"\(node)\": \(reason)"
        case .badParameter(let parameter, let reason): "parameter \"\(parameter)\": \(reason)"
        case .badWork(let problem): problem.description
        case .unknownZone(let problem): "calendar: \(problem)"
        case .neverComes: "calendar: there is no such day; write one that comes"
        case .unknownRemoval(let known):
            "there is no definition or graph of that name to remove"
                + (known.isEmpty || known.count > 20 ? "" : "; there are " + known.joined(separator: ", "))
        }
    }
}

extension DefinitionProblem.NodeReason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknownDefinition(let name, let known):
            NearestName.unknown("definition", name, among: known, listing: "the definitions are")
        case .refusedDefinition(let name): "it runs \"\(name)\", which is refused; correct that definition first"
        case .removedDefinition(let name): "it runs \"\(name)\", which is to be removed; remove this graph too"
        case .graphDefinition(let name): "\"\(name)\" is a graph; a node runs a definition"
        case .unknownQueue(let queue, let known): unknownQueueMessage(queue, known)
        case .badInput(let problem): "input: \(problem)"
        }
    }
}

extension DefinitionProblem.ParameterReason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .badName: "the name is not allowed; \(Names.nodeNameRule)"
        case .duplicate: "the name is used twice; rename one of them"
        case .unknownNode(let node, let known):
            NearestName.unknown("node", node, among: known, listing: "the nodes are")
        case .unknownField(let field, let node, let known):
            NearestName.unknown("field", "\(node).\(field)", among: known.map { "\(node).\($0)" }, listing: "there are")
        case .sameField(let other): "stands for the same field as \"\(other)\"; keep one of them"
        }
    }
}

private func unknownQueueMessage(_ name: String, _ known: [String]) -> String {
    let text = NearestName.unknown("queue", name, among: known, listing: "the queues are")
    return text.hasSuffix("?") ? text : text + "; add it under \"queues\""
}
