import Jobs
import RunningWorkers
import WorkerProtocol

extension RunningWorker {
    /// Starts the sample worker.
    convenience init(_ arguments: [String] = []) throws { try self.init("SampleWorker", arguments) }

    /// Runs `body` with a sample worker that has announced its kinds.
    static func with(_ body: (RunningWorker) async throws -> Void) async throws {
        try await with("SampleWorker", body)
    }
}

extension Run {
    /// The first attempt of a job of kind `act`.
    init(job: Int64, action: String, number: Int? = nil, text: String? = nil) {
        let number = number.map { #","number":\#($0)"# } ?? ""
        let text = text.map { #","text":\#(JSONText(string: $0).string)"# } ?? ""
        let input = #"{"action":"\#(action)"\#(number)\#(text)}"#
        self.init(lease: .first(of: job), kind: "act", input: JSONText(trusted: Array(input.utf8)))
    }
}
