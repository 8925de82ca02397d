import Jobs
import OperationTypes

/// The example of the manual, which counts the words of its files and saves a checkpoint after each.
struct CountFiles: Kind {
    struct Input: Codable, Sendable { var files: [String] }
    struct State: Codable, Sendable, Hashable {
        var done = 0
        var words = 0
    }
    struct Output: Codable, Sendable, Hashable { var words: Int }
    struct Failure: OperationFailure, Hashable {
        var code: String
        var description: String
        var isRetryable: Bool { true }
    }

    static let name = "count-files"
    static let summary = "Counts the words of files"
    static let inputFields = [InputField("files", .array, isRequired: true, summary: "the files")]
    /// The contents of the files, by name. A file that is missing cannot be read.
    var contents: [String: String]

    func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output { Output(words: 0) }

    func run(_ input: Input, job: JobContext) async throws(Failure) -> Output {
        // A checkpoint of an earlier version of this kind may not fit. The attempt then begins without it.
        var state = (try? job.checkpoint(as: State.self)) ?? State()
        for file in input.files.dropFirst(state.done) {
            state.words += try words(in: file)
            state.done += 1
            do throws(CheckpointError) {
                try await job.save(state)
            } catch .leaseLost {
                throw Failure(code: "lease_lost", description: "The job runs elsewhere.")
            } catch {
                // If another attempt follows, it begins at the checkpoint before this one.
            }
        }
        return Output(words: state.words)
    }

    private func words(in file: String) throws(Failure) -> Int {
        guard let text = contents[file] else { throw Failure(code: "unreadable", description: file) }
        return text.split(separator: " ").count
    }
}
