import ControlProtocol
import Jobs

/// Checks inputs with the rules of their kinds, before a job is accepted or a definition is stored. A run checks them
/// again.
struct InputCheck {
    let kinds: KindRegistry

    /// Returns the reason why every run with the input would fail; nil if a run may succeed.
    func problem(of input: PlannedInput) -> ControlProblem? {
        kinds[input.kind]?.kind.refusal(of: input).map(ControlProblem.init)
    }

    /// Returns a check that may block; nil if there is none. See ``BlockingChecks``.
    func blockingCheck(of input: PlannedInput) -> BlockingChecks.Check? {
        guard let check = kinds[input.kind]?.kind.blockingCheck(of: input) else { return nil }
        return { check().map(ControlProblem.init) }
    }
}

extension ControlProblem {
    init(_ refusal: InputRefusal) {
        let code: Code =
            switch refusal.reason {
            case .invalid: .invalidInput
            case .fileOutsideRoots: .outsideRoots
            case .credentialRefused: .credentialRefused
            }
        self.init(code, refusal.message)
    }
}
