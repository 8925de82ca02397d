import Jobs
import OperationTypes

extension KindFailure {
    static func invalid(_ field: String, _ problem: String) -> KindFailure {
        KindFailure(.invalidInput, "`\(field)` \(problem).")
    }
}

extension Kind where Failure == KindFailure {
    /// Refuses a number that ``Jobs/Kind/inputFields`` does not allow. A job's input was checked before it was accepted;
    /// what is run otherwise was not.
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
