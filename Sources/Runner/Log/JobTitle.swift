import Jobs

/// The name of one or more jobs in a log entry, such as `job 42 (enrich)` or `jobs 42-58, 61 (enrich)`.
struct JobTitle: CustomStringConvertible {
    private let numbers: String
    private let definition: String?
    private let isPlural: Bool

    init(_ job: JobID, definition: String? = nil) { self.init([job], definition: definition) }

    init(_ attempt: RunningAttempt) {
        self.init(attempt.lease.job, definition: attempt.definition.definition.name)
    }

    init(_ jobs: [JobID], definition: String? = nil) {
        isPlural = jobs.count != 1
        numbers = Self.ranges(of: jobs)
        self.definition = definition
    }

    var description: String {
        "\(isPlural ? "jobs" : "job") \(numbers)" + (definition.map { " (\($0))" } ?? "")
    }

    private static func ranges(of jobs: [JobID]) -> String {
        var ranges: [ClosedRange<Int64>] = []
        for number in jobs.map(\.rawValue).sorted() {
            if let last = ranges.last, last.upperBound + 1 == number {
                ranges[ranges.count - 1] = last.lowerBound...number
            } else {
                ranges.append(number...number)
            }
        }
        return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }
}

extension Array {
    /// Splits the array into slices of at most `count` elements, in order.
    func pieces(of count: Int) -> [ArraySlice<Element>] {
        stride(from: startIndex, to: endIndex, by: count).map { self[$0..<Swift.min($0 + count, endIndex)] }
    }
}
