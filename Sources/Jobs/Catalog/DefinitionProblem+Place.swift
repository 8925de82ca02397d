extension DefinitionProblem.Reason {
    /// The path of the faulty field within its subject, as in a document: `retry.tries` is two names. Empty if the
    /// subject as a whole is at fault.
    public var place: [String] {
        switch self {
        case .hiddenInSummary: ["summary"]
        case .limitOutOfRange: ["limit"]
        case .weightOutOfRange: ["weight"]
        case .unknownKind: ["kind"]
        case .unknownQueue: ["queue"]
        case .badRetryPolicy(let problem): ["retry", problem.field]
        case .badTimeout: ["timeout"]
        case .badInput(let problem): problem.place
        case .badNode(let node, let reason): ["nodes", node] + reason.place
        case .badParameter(let parameter, _): ["parameters", parameter]
        case .badWork(let problem): problem.place
        case .unknownZone, .neverComes: ["calendar"]
        case .badName, .duplicate, .tooManyQueues, .tooManySchedules, .tooManyDefinitions, .tooLarge, .noNodes,
            .unreadable, .badGraph, .unknownRemoval:
            []
        }
    }
}

extension DefinitionProblem.NodeReason {
    fileprivate var place: [String] {
        switch self {
        case .unknownDefinition, .refusedDefinition, .removedDefinition, .graphDefinition: ["definition"]
        case .unknownQueue: ["queue"]
        case .badInput(let problem): problem.place
        }
    }
}

extension RequestProblem {
    /// The path within the schedule whose work cannot be enqueued.
    fileprivate var place: [String] {
        switch self {
        case .unknownDefinition(_, nil, _), .refusedDefinition(_, nil, _), .graphDefinition(_, nil): ["definition"]
        case .unknownQueue: ["queue"]
        case .badInput(let problem, nil): problem.place
        case .unknownParameter(let name, _, _), .givenTwice(let name): ["input", name]
        default: []
        }
    }
}

extension InputProblem {
    fileprivate var place: [String] {
        switch self {
        case .notAnObject, .tooLarge, .missingField, .refused: ["input"]
        case .unknownField(let field, _), .wrongShape(let field, _, _), .notAChoice(let field, _),
            .outOfRange(let field, _, _), .notAnAddress(let field, _):
            ["input", field]
        }
    }
}
