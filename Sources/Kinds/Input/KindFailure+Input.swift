import Jobs
import OperationTypes
import Web

extension KindFailure {
    static func invalid(_ field: String, _ problem: String) -> KindFailure {
        KindFailure(.invalidInput, "`\(field)` \(problem).")
    }
}

extension Kind where Failure == KindFailure {
    /// Refuses a number that ``Jobs/Kind/inputFields`` does not allow. The input of a job was checked when the job was
    /// accepted, but a kind can also run without a job.
    ///
    /// - Throws: `invalid_input`.
    static func check(_ number: (some BinaryInteger)?, of field: String) throws(KindFailure) {
        guard let number,
            let problem = inputFields.first(where: { $0.name == field })?.problem(of: Int64(clamping: number))
        else { return }
        throw .invalid(field, problem)
    }
}

extension InputField {
    static let webSchemes = ["http", "https"]
}
