import CalendarEvents
import OperationTypes

/// The reason why a queue, definition, graph definition or schedule cannot be used, with a remedy.
public struct DefinitionProblem: Error, Hashable, Sendable {
    /// The kind and name of the entry that has a problem.
    public enum Subject: Hashable, Sendable {
        /// A queue, by name.
        case queue(String)
        /// A definition, by name.
        case definition(String)
        /// A graph definition, by name.
        case graph(String)
        /// A schedule, by name.
        case schedule(String)
    }

    /// The fault, with the facts needed to correct it.
    public enum Reason: Hashable, Sendable {
        /// The name is empty, too long, or contains characters that are not allowed.
        case badName
        /// The summary contains a hidden character.
        case hiddenInSummary(HiddenCharacter)
        /// The name is used twice; definitions and graph definitions must not share a name.
        case duplicate
        /// The change would exceed ``QueueSettings/maxCount``.
        case tooManyQueues
        /// The change would exceed ``Schedule/maxCount``.
        case tooManySchedules
        /// The change would lead to this many definitions and graph definitions, more than ``DefinitionSet/maxCount``.
        case tooManyDefinitions(Int)
        /// The change would lead to this many bytes in total, more than ``DefinitionSet/maxBytes``.
        case tooLarge(bytes: Int)
        /// The limit of a queue is not between 1 and ``QueueSettings/maxLimit``.
        case limitOutOfRange(Int)
        /// The limit of a queue on each daemon is not between 1 and ``QueueSettings/maxLimit``.
        case limitPerDaemonOutOfRange(Int)
        /// The weight of a queue is not between 1 and ``QueueSettings/maxWeight``.
        case weightOutOfRange(Int)
        /// No kind has this name.
        case unknownKind(String, known: [String])
        /// No queue has this name.
        case unknownQueue(String, known: [String])
        /// The retry policy is invalid.
        case badRetryPolicy(ShapeProblem)
        /// The timeout is not between 1 ms and 365 days.
        case badTimeout(Duration)
        /// The input does not fit the kind.
        case badInput(InputProblem)
        /// A definition of the kind `program` lacks its program, or another kind has one.
        case badProgram(isMissing: Bool)
        /// The daemon must not or cannot run the program, for this reason.
        case refusedProgram(String)
        /// The graph definition has no nodes.
        case noNodes
        /// This release cannot parse the stored form, for this reason.
        case unreadable(String)
        /// The nodes and edges do not form a graph.
        case badGraph(GraphProblem)
        /// The node of this name is invalid.
        case badNode(String, NodeReason)
        /// The parameter of this name is invalid.
        case badParameter(String, ParameterReason)
        /// There is no definition or graph definition of this name to remove.
        case unknownRemoval(known: [String])
        /// The schedule's work could not be enqueued.
        case badWork(RequestProblem)
        /// The calendar names a time zone that cannot be used.
        case unknownZone(ZoneProblem)
        /// The calendar matches no time at all.
        case neverComes
    }

    /// The fault of one node of a graph definition.
    public enum NodeReason: Hashable, Sendable {
        /// No definition has this name.
        case unknownDefinition(String, known: [String])
        /// The definition of this name exists but cannot be used.
        case refusedDefinition(String)
        /// The definition of this name is removed by the same change.
        case removedDefinition(String)
        /// The node names a graph definition; a node can only run a definition.
        case graphDefinition(String)
        /// No queue has this name.
        case unknownQueue(String, known: [String])
        /// The node's input does not fit its kind.
        case badInput(InputProblem)
    }

    /// The fault of one parameter of a graph definition.
    public enum ParameterReason: Hashable, Sendable {
        /// The name is empty, too long, or contains characters that are not allowed.
        case badName
        /// Two parameters have this name.
        case duplicate
        /// No node has this name.
        case unknownNode(String, known: [String])
        /// The node's kind has no field of this name.
        case unknownField(String, node: String, known: [String])
        /// Another parameter already sets the same field.
        case sameField(as: String)
    }

    /// The entry that has the problem.
    public var subject: Subject
    /// The fault.
    public var reason: Reason

    /// Creates a problem.
    public init(_ subject: Subject, _ reason: Reason) {
        self.subject = subject
        self.reason = reason
    }
}

extension DefinitionProblem: CustomStringConvertible {
    /// A one-line description, such as `definition "upload": unknown kind "uplod"; did you mean "upload"?`.
    public var description: String {
        if case .schedule = subject, reason == .duplicate {
            return "\(subject): the name is used twice; rename one of them"
        }
        return "\(subject): \(reason)"
    }
}

extension DefinitionProblem.Subject: CustomStringConvertible {
    /// The name of the entry.
    public var name: String {
        switch self {
        case .queue(let name), .definition(let name), .graph(let name), .schedule(let name): name
        }
    }

    /// The type of the entry: `queue`, `definition`, `graph` or `schedule`.
    public var type: String {
        switch self {
        case .queue: "queue"
        case .definition: "definition"
        case .graph: "graph"
        case .schedule: "schedule"
        }
    }

    public var description: String { "\(type) \"\(name)\"" }
}

extension DefinitionProblem.Reason: CustomStringConvertible {
    public var description: String { finding.message }
    /// The path of the faulty field within its subject, as in a document: `retry.tries` is two names. Empty if the
    /// subject as a whole is at fault.
    public var path: [String] { finding.path }

    private var finding: (path: [String], message: String) {
        switch self {
        case .badName: ([], "the name is not allowed; \(Names.nameRule)")
        case .hiddenInSummary(let character): (["summary"], "summary: it contains \(character); remove it")
        case .duplicate:
            ([], "the name is used twice; definitions and graphs share one namespace, so rename one of them")
        case .tooManyQueues: ([], "there are already \(QueueSettings.maxCount) queues, the maximum; use one of them")
        case .tooManySchedules:
            ([], "there are already \(Schedule.maxCount) schedules, the maximum; remove or change one")
        case .tooManyDefinitions(let count):
            (
                [],
                "with it there would be \(count) definitions and graphs; the limit is \(DefinitionSet.maxCount), so remove some first"
            )
        case .tooLarge(let bytes):
            (
                [],
                "with it all definitions, graphs and schedules would have \(bytes) bytes of JSON; the limit is \(DefinitionSet.maxBytes), so make inputs smaller or remove some first"
            )
        case .limitOutOfRange(let limit):
            (["limit"], "limit: expected 1 to \(QueueSettings.maxLimit), found \(limit)")
        case .limitPerDaemonOutOfRange(let limit):
            (
                ["limit_per_daemon"],
                "limit_per_daemon: expected 1 to \(QueueSettings.maxLimit), found \(limit); write none for no limit"
            )
        case .weightOutOfRange(let weight):
            (["weight"], "weight: expected 1 to \(QueueSettings.maxWeight), found \(weight)")
        case .unknownKind(let kind, let known):
            (["kind"], unknownKindMessage(kind, known))
        case .unknownQueue(let queue, let known): (["queue"], unknownQueueMessage(queue, known))
        case .badRetryPolicy(let problem): (["retry"] + problem.path, "retry.\(problem)")
        case .badTimeout(let timeout):
            (["timeout"], "timeout: expected 1ms to 365d, found \(timeout.human); remove it for no limit")
        case .badInput(let problem): (problem.path, "input: \(problem)")
        case .refusedProgram(let reason): (["program"], "program: \(reason)")
        case .badProgram(let isMissing):
            (
                ["program"],
                isMissing
                    ? "program: it is missing; write the path of an executable and its arguments"
                    : "program: it is allowed only with kind: \(ProgramDefinition.kind); remove it"
            )
        case .noNodes: ([], "it has no nodes; add at least one")
        case .unreadable(let reason): ([], "the stored definition is unreadable (\(reason)); apply it again")
        case .badGraph(let problem): ([], problem.description)
        case .badNode(let node, let reason): (["nodes", node] + reason.finding.path, "node \"\(node)\": \(reason)")
        case .badParameter(let parameter, let reason):
            (["parameters", parameter], "parameter \"\(parameter)\": \(reason)")
        case .badWork(let problem): (problem.path, problem.description)
        case .unknownZone(let problem): (["calendar"], "calendar: \(problem)")
        case .neverComes: (["calendar"], "calendar: no such day exists; write a day that exists")
        case .unknownRemoval(let known):
            (
                [],
                "there is no definition or graph of that name to remove"
                    + (known.isEmpty || known.count > 20 ? "" : "; there are " + known.joined(separator: ", "))
            )
        }
    }
}

extension DefinitionProblem.NodeReason: CustomStringConvertible {
    public var description: String { finding.message }

    fileprivate var finding: (path: [String], message: String) {
        switch self {
        case .unknownDefinition(let name, let known):
            (["definition"], NearestName.unknown("definition", name, among: known, listing: "the definitions are"))
        case .refusedDefinition(let name):
            (["definition"], "it runs \"\(name)\", which is refused; correct that definition first")
        case .removedDefinition(let name):
            (["definition"], "it runs \"\(name)\", which is being removed; remove this graph too")
        case .graphDefinition(let name): (["definition"], "\"\(name)\" is a graph; a node runs a definition")
        case .unknownQueue(let queue, let known): (["queue"], unknownQueueMessage(queue, known))
        case .badInput(let problem): (problem.path, "input: \(problem)")
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
        case .sameField(let other): "it sets the same field as \"\(other)\"; remove one of them"
        }
    }
}

private func unknownKindMessage(_ name: String, _ known: [String]) -> String {
    let text = NearestName.unknown("kind", name, among: known, listing: "the kinds are")
    return text.hasSuffix("?") ? text : text + "; no worker runs it now, see halyard workers"
}

private func unknownQueueMessage(_ name: String, _ known: [String]) -> String {
    let text = NearestName.unknown("queue", name, among: known, listing: "the queues are")
    return text.hasSuffix("?") ? text : text + "; add it under \"queues\""
}
