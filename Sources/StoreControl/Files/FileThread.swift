import ControlProtocol
import Dispatch
import Glibc
import JobFiles

/// Runs operations on the files of jobs on a dedicated thread, since they block.
struct FileThread: Sendable {
    private let queue: DispatchQueue

    init(label: String = "halyard.job-files") { queue = DispatchQueue(label: label) }

    func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(JobFilesError) -> Value
    ) async throws(ControlProblem) -> Value {
        let result: Result<Value, JobFilesError> = await withCheckedContinuation { continuation in
            queue.async {
                do throws(JobFilesError) {
                    continuation.resume(returning: .success(try work()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        switch result {
        case .success(let value): return value
        case .failure(let failure): throw ControlProblem(failure)
        }
    }

    /// Runs an operation that nobody waits for.
    func start(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }
}

extension ControlProblem {
    init(_ error: JobFilesError) {
        if case .failed(_, let path, let code) = error, code == EACCES || code == EPERM {
            self.init(
                .permission,
                "Permission to use \(path) was denied. Start halyardd, or run the command as the daemon's user.")
        } else {
            self.init(.storage, "A file of a job cannot be used: \(error).")
        }
    }
}
