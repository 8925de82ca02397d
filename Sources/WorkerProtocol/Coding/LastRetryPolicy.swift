import Jobs
import OperationTypes
import Synchronization

/// The last retry policy that was read or written, with its JSON.
///
/// Consecutive attempts usually have the same policy, and converting it takes a fifth of the time for an attempt that
/// does nothing.
enum LastRetryPolicy {
    private struct Pair: Sendable {
        var policy: RetryPolicy
        var json: JSONText
    }

    private static let written = Mutex(Pair(policy: .never, json: RetryPolicy.never.json))
    /// Separate, since other programs may write the same policy in another way.
    private static let read = Mutex(Pair(policy: .never, json: RetryPolicy.never.json))

    static func json(of policy: RetryPolicy) -> JSONText {
        written.withLock { last in
            if last.policy != policy { last = Pair(policy: policy, json: policy.json) }
            return last.json
        }
    }

    static func policy(of json: JSONText) throws(ShapeProblem) -> RetryPolicy {
        if let policy = read.withLock({ $0.json == json ? $0.policy : nil }) { return policy }
        let policy = try RetryPolicy(json: json, at: ["retry"])
        read.withLock { $0 = Pair(policy: policy, json: json) }
        return policy
    }
}
