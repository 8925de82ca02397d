import HalyardWorker

struct Greet: Kind {
    struct Input: Codable, Sendable { var name: String }
    struct Output: Codable, Sendable { var greeting: String }
    struct Failure: OperationFailure {
        var code: String { "nobody" }
        var isRetryable: Bool { false }
        var description: String { "the name is empty; give one" }
    }

    static let name = "greet"
    static let summary = "Greets somebody"
    static let inputFields = [InputField("name", .string, isRequired: true, summary: "Whom to greet.")]

    func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output {
        if input.name.isEmpty { throw Failure() }
        return Output(greeting: "Hello, \(input.name)!")
    }
}

@main struct Main {
    static func main() async { await WorkerCommand.run([Greet()]) }
}
