import Glibc
import Jobs
import OperationTypes

/// Returns its input.
struct Echo: Kind {
    typealias Failure = ChosenFailure
    static let name = "echo"
    static let summary = "Returns its input"
    static let inputFields: [InputField] = []
    static let checksInputs = false
    static let cleansUp = false

    func run(_ input: JSONText, context: OperationContext) async throws(ChosenFailure) -> JSONText { input }
}

/// Returns the outputs of its dependencies.
struct Join: Kind {
    struct Input: Codable { var outputs: [AnyOutput]? }
    typealias Accepted = [AnyOutput]
    typealias Failure = ChosenFailure
    static let name = "join"
    static let summary = "Returns the outputs of its dependencies"
    static let inputFields: [InputField] = []
    static let checksInputs = false
    static let cleansUp = false

    static func accept(_ value: [AnyOutput], into input: inout Input) { input.outputs = value }

    func run(_ input: Input, context: OperationContext) async throws(ChosenFailure) -> [String] {
        (input.outputs ?? []).map(\.json)
    }
}

/// Refuses inputs that a test chooses: `{"refuse": "at once"}`, `"verbosely"`, `"after a look"` or
/// `"much too late"`.
struct Picky: Kind {
    struct Input: Codable { var refuse: String? }
    typealias Failure = ChosenFailure
    static let name = "picky"
    static let summary = "Refuses inputs"
    static let inputFields: [InputField] = []
    static let cleansUp = false

    func refusal(of input: PlannedInput) -> InputRefusal? {
        switch refuse(input) {
        case "at once": InputRefusal("refused at once")
        case "verbosely": InputRefusal(String(repeating: "refused ", count: 300))
        default: nil
        }
    }

    func blockingCheck(of input: PlannedInput) -> (@Sendable () -> InputRefusal?)? {
        switch refuse(input) {
        case "after a look": { InputRefusal("refused after a look", reason: .fileOutsideRoots) }
        case "much too late":
            {
                sleep(600)
                return InputRefusal("refused much too late")
            }
        default: nil
        }
    }

    func run(_ input: Input, context: OperationContext) async throws(ChosenFailure) -> String { "ran" }

    private func refuse(_ input: PlannedInput) -> String? {
        // An input of another shape is not refused here.
        try? input.decoded(as: Input.self).refuse
    }
}

/// Reports on standard error what the daemon told it, and asks for the states of the jobs 1 and 2.
struct Keeper: Kind {
    typealias Failure = ChosenFailure
    static let name = "keeper"
    static let summary = "Keeps something for each job"
    static let inputFields: [InputField] = []
    static let checksInputs = false

    func run(_ input: JSONText, context: OperationContext) async throws(ChosenFailure) -> JSONText { input }

    func didSucceed(_ job: JobID) { print("job \(job) succeeded") }

    func cleanUp(
        asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
    ) async throws(StoreError) -> Bool {
        let states = [try await state(JobID(1)), try await state(JobID(2))]
        print("states: \(states.map { $0?.name ?? "none" })")
        return states.contains { $0?.isFinal == false }
    }
}
