import Dispatch
import JobFiles
import Jobs
import OperationTypes

extension ProgramHost {
    private static let checks = DispatchQueue(label: "halyard.program.checks")
    /// The longest time that a check of executables may take. The definition is accepted if the disk does not answer in
    /// time, since each start checks again.
    private static let checkLimit = DispatchTimeInterval.seconds(2)

    /// Checks the values of jobs, and the executables of definitions.
    public func refusals(of inputs: [PlannedInput]) async -> [InputRefusal?] {
        let values = inputs.map(refusal)
        guard inputs.contains(where: { $0.stage == .definition && $0.program != nil }) else { return values }
        let (roots, places) = (roots, places)
        let waiter = Waiter<[InputRefusal?]>()
        Self.checks.async {
            waiter.end(
                with: zip(inputs, values).map { input, refusal in
                    guard refusal == nil, input.stage == .definition, let program = input.program else {
                        return refusal
                    }
                    return Self.refusal(of: program.executable, roots)
                        ?? (program.result == .file ? Self.refusal(ofFilesFrom: places) : nil)
                })
        }
        Self.checks(after: Self.checkLimit) { waiter.end(with: nil) }
        return await waiter.uncancellableOutcome() ?? values
    }

    private static func checks(after limit: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: body)
    }

    private static func refusal(of executable: String, _ roots: [String]) -> InputRefusal? {
        do throws(ExecutableProblem) {
            _ = try CheckedExecutable(executable, roots: roots)
            return nil
        } catch {
            return error.isTransient ? nil : InputRefusal("\(error).")
        }
    }

    /// The refusal of a result that is a file; nil if such a file can be moved into the folder of the jobs' files.
    private static func refusal(ofFilesFrom places: (work: String, files: String?)) -> InputRefusal? {
        guard let files = places.files, !FileSystem.isShared(by: places.work, and: files) else { return nil }
        return InputRefusal(
            "result: file is not possible, because program.directory (\(places.work)) is on another file system than \(files), where result files are kept; set program.directory in halyard.yaml to a folder on that file system, or use another result."
        )
    }

    private func refusal(of input: PlannedInput) -> InputRefusal? {
        guard let program = input.program else { return nil }
        do throws(ProgramInputProblem) {
            let values = try program.completed(input.input)
            _ = try program.arguments(for: values, output: "")
            return nil
        } catch {
            return InputRefusal(error.sentence)
        }
    }
}
