import OperationTypes

extension RetryPolicy {
    /// The maximum wait, and the maximum timeout.
    static let longestDuration = Duration.seconds(365 * 86_400)

    /// The first problem of the policy, with the path of the faulty field; nil if the policy can be used.
    public var problem: ShapeProblem? {
        guard (1...1000).contains(tries) else {
            return ShapeProblem(path: ["tries"], message: "expected 1 to 1000, found \(tries)")
        }
        return delayProblem ?? failuresProblem
    }

    private var delayProblem: ShapeProblem? {
        switch delay {
        case .none:
            return nil
        case .constant(let wait):
            return Self.check(wait, "initial")
        case .exponential(let initial, let multiplier, let cap):
            if let problem = Self.check(initial, "initial") ?? Self.check(cap, "cap") { return problem }
            guard multiplier >= 1, multiplier <= 100 else {
                return ShapeProblem(path: ["multiplier"], message: "expected 1 to 100, found \(multiplier)")
            }
            guard cap >= initial else {
                return ShapeProblem(
                    path: ["cap"], message: "\(cap.human) is shorter than the first wait, \(initial.human); raise it")
            }
            return nil
        case .list(let delays):
            guard (1...100).contains(delays.count) else {
                return ShapeProblem(path: ["delays"], message: "expected 1 to 100 durations, found \(delays.count)")
            }
            return delays.lazy.compactMap { Self.check($0, "delays", least: .zero) }.first
        }
    }

    private var failuresProblem: ShapeProblem? {
        guard case .codes(let codes) = failures else { return nil }
        guard !codes.isEmpty else {
            return ShapeProblem(path: ["on"], message: "the list is empty; to never retry a job, write tries: 1")
        }
        for code in codes.sorted() where !isFailureCode(code) {
            return ShapeProblem(path: ["on"], message: "\"\(code)\" is not a failure code; write one such as timed_out")
        }
        return nil
    }

    private static func check(
        _ wait: Duration, _ field: String, least: Duration = .milliseconds(1)
    ) -> ShapeProblem? {
        if wait < least {
            let remedy = least == .zero ? "" : "; to retry without a wait, write delay: none"
            return ShapeProblem(path: [field], message: "expected at least \(least.human)\(remedy)")
        }
        if wait > longestDuration {
            return ShapeProblem(path: [field], message: "\(wait.human) is longer than 365d; shorten it")
        }
        return nil
    }
}

func isFailureCode(_ code: String) -> Bool {
    (1...64).contains(code.utf8.count)
        && code.utf8.allSatisfy { ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: "_") }
}
