import ControlProtocol
import Jobs

extension ControlProblem {
    /// Converts a failure of the store to the code and message that callers get.
    public init(_ error: StoreError) {
        let code: Code =
            switch error {
            case .busy, .diskFull, .readOnly, .unreachable, .identityInUse, .moved, .closed: .unavailable
            case .commitUnknown, .unanswered, .fileLost, .overwritten: .unknownOutcome
            case .denied: .permission
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
        let code: Code =
            switch refusal {
            case .keyUsedForAnotherRequest: .keyReused
            case .unknownDependency: .notFound
            case .unknownQueue: .unknownQueue
            case .unknownDefinition: .unknownDefinition
            case .unknownHome: .invalidInput
            case .hiddenCharacter, .cycle: .invalidRequest
            }
        self.init(code, refusal.description)
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
