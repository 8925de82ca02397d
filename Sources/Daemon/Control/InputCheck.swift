import ControlProtocol
import Jobs

/// Checks inputs with the rules of their kinds, before a job is accepted or a definition is stored. A run checks them
/// again.
struct InputCheck {
    let kinds: KindRegistry

    /// Returns the reason why every run with an input would fail, for each input; nil if a run may succeed. Worker
    /// programs check the inputs of their kinds, and an input is accepted if its program does not answer in time.
    func problems(of inputs: [PlannedInput]) async -> [ControlProblem?] {
        var problems = inputs.map { input in
            kinds[input.kind]?.kind?.refusal(of: input).map(ControlProblem.init)
        }
        for host in kinds.hosts {
            let own = inputs.indices.filter { kinds[inputs[$0].kind]?.host === host }
            let refusals = await host.refusals(of: own.map { inputs[$0] })
            for (index, refusal) in zip(own, refusals) { problems[index] = refusal.map(ControlProblem.init) }
        }
        return problems
    }

    /// Returns a check that may block; nil if there is none. See ``BlockingChecks``.
    func blockingCheck(of input: PlannedInput) -> BlockingChecks.Check? {
        guard let check = kinds[input.kind]?.kind?.blockingCheck(of: input) else { return nil }
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
