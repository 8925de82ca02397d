import Synchronization

/// Memory for what is being sent, shared by all streams of all uploads.
///
/// Nobody waits for it, so a server that takes nothing keeps no other upload waiting: the less is left, the smaller the
/// buffers, down to ``least``. So streams together hold no more than the limit, and twice ``least`` each.
final class BufferBudget: Sendable {
    static let least = 16 << 10

    private let limit: Int
    private let used = Mutex(0)

    init(bytes limit: Int) { self.limit = limit }

    var lent: Int { used.withLock { $0 } }

    /// A part of the memory, until it is dropped.
    final class Loan: Sendable {
        let bytes: Int
        private let budget: BufferBudget

        fileprivate init(_ bytes: Int, of budget: BufferBudget) {
            self.bytes = bytes
            self.budget = budget
        }

        deinit { budget.used.withLock { $0 -= bytes } }
    }

    /// As much as is wanted, or half of what is left, so that something is left for others.
    func lend(_ wanted: Int) -> Loan {
        let bytes = used.withLock { used in
            let bytes = wanted <= Self.least ? wanted : min(wanted, max(Self.least, (limit - used) / 2))
            used += bytes
            return bytes
        }
        return Loan(bytes, of: self)
    }
}
