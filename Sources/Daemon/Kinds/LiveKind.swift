import Jobs
import OperationTypes
import Synchronization

/// A kind whose configuration can be replaced while jobs run. A run keeps the configuration with which it
/// began; the next run uses the new one.
struct LiveKind<Base: Kind>: Kind {
    typealias Accepted = Base.Accepted
    typealias Offered = Base.Offered

    static var name: String { Base.name }
    static var summary: String { Base.summary }
    static var inputFields: [InputField] { Base.inputFields }
    static func accept(_ value: Base.Accepted, into input: inout Base.Input) { Base.accept(value, into: &input) }
    static func offer(_ output: Base.Output) -> Base.Offered { Base.offer(output) }

    /// Returns the current generation's kind, and an object that must stay alive while the kind runs.
    let current: @Sendable () -> (kind: Base, keeping: any Sendable)

    func run(_ input: Base.Input, context: OperationContext) async throws(Base.Failure) -> Base.Output {
        let generation = current()
        defer { withExtendedLifetime(generation.keeping) {} }
        return try await generation.kind.run(input, context: context)
    }

    func run(_ input: Base.Input, job: JobContext) async throws(Base.Failure) -> Base.Output {
        let generation = current()
        defer { withExtendedLifetime(generation.keeping) {} }
        return try await generation.kind.run(input, job: job)
    }

    func refusal(of input: PlannedInput) -> InputRefusal? { current().kind.refusal(of: input) }

    func blockingCheck(of input: PlannedInput) -> (@Sendable () -> InputRefusal?)? {
        current().kind.blockingCheck(of: input)
    }

    func didSucceed(_ job: JobID) {
        let generation = current()
        defer { withExtendedLifetime(generation.keeping) {} }
        generation.kind.didSucceed(job)
    }

    func cleanUp(
        asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
    ) async throws(StoreError) -> Bool {
        let generation = current()
        defer { withExtendedLifetime(generation.keeping) {} }
        return try await generation.kind.cleanUp(asking: state)
    }
}
