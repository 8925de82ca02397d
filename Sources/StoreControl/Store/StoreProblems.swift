import ControlProtocol
import Jobs

extension ControlProblem {
    /// Converts a failure of the store to the code and message that callers get.
    public init(_ error: StoreError) {
        let code: Code =
            switch error {
            case .busy, .diskFull, .readOnly, .unreachable, .identityInUse, .closed: .unavailable
            case .commitUnknown, .unanswered, .fileLost, .overwritten: .unknownOutcome
            case .inputOutput, .damaged: .storage
            case .tooManySchedules: .invalidDefinitions
            case .internalError: .internal
            }
        self.init(code, error.description)
    }

    init(_ problem: RequestProblem) {
        let code: Code =
            switch problem {
            case .unknownDefinition, .refusedDefinition: .unknownDefinition
            case .unknownQueue: .unknownQueue
            case .badInput, .unknownParameter, .givenTwice, .tooManyArguments, .badArgument, .inputForJobs:
                .invalidInput
            case .tooManyJobs: .tooLarge
            case .noJobs, .graphDefinition, .badGraph, .badGraphName, .badKey, .hiddenCharacter, .waitOutOfRange:
                .invalidRequest
            }
        self.init(code, sentence(problem.description))
    }

    init(_ refusal: EnqueueProblem) {
        switch refusal {
        case .keyUsedForAnotherRequest(let key):
            self.init(
                .keyReused,
                "The key \"\(key)\" was used for another request. Use a new key, or repeat the earlier request.")
        case .unknownDependency(let id):
            self.init(.notFound, "There is no job \(id) to wait for; it may have been pruned.")
        case .unknownQueue(let name):
            self.init(
                .unknownQueue,
                "The queue \"\(name)\" was removed. To create it again: halyard queues set \(name) --create")
        case .unknownDefinition(let id):
            self.init(
                .unknownDefinition, "Revision \(id.rawValue) of a definition was just removed. Send the request again.")
        case .hiddenCharacter(let character, let field):
            self.init(.invalidRequest, sentence("\(field) contains \(character); remove it"))
        case .unknownHome:
            self.init(
                .invalidInput,
                "The input names a file in the spool of a daemon that does not belong to this database. Send the file again."
            )
        case .cycle(let index):
            self.init(
                .invalidRequest, "The dependencies form a cycle through job #\(index + 1). Remove one of its edges.")
        }
    }
}

/// Evaluates a call of the store, and converts its error to a problem.
func mappingStoreErrors<Value>(
    isolation: isolated (any Actor)? = #isolation, _ call: @autoclosure () async throws(StoreError) -> Value
) async throws(ControlProblem) -> Value {
    do {
        return try await call()
    } catch {
        throw ControlProblem(error)
    }
}
