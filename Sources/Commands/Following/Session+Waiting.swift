import ControlProtocol
import Jobs

extension Session {
    /// Prints the numbers of the jobs that a verb has enqueued, and waits for them if the options say so.
    func end(with receipt: EnqueueReceipt, _ waiting: WaitOptions) async throws -> ExitCode {
        try print(receipt) { for id in receipt.jobs { try $0.line("\(id)") } }
        try output.flush()
        try await noteWritten(willRun: true)
        return try await wait(for: receipt, waiting)
    }

    /// Waits for the jobs that a verb has enqueued, if the options say so.
    func wait(for receipt: EnqueueReceipt, _ waiting: WaitOptions) async throws -> ExitCode {
        guard waiting.wait else { return .success }
        let work = receipt.graph.map { [WorkArgument.graph($0)] } ?? receipt.jobs.map { .job($0) }
        return try await Waiting(self, patience: waiting.follow.reconnect).wait(for: work, timeout: waiting.timeout)
    }
}
