import Synchronization

/// The memory for data in transit, shared by the streams of all uploads.
///
/// No stream waits for memory, so a server that accepts no data does not hold up other uploads. Instead, buffers become
/// smaller, down to ``least``, when little memory is left. Together, the streams use at most the limit, plus twice
/// ``least`` for each stream.
final class BufferBudget: Sendable {
    static let least = 16 << 10

    private let limit: Int
    private let used = Mutex(0)

    init(bytes limit: Int) { self.limit = limit }

    var lent: Int { used.withLock { $0 } }

    /// A share of the memory, which is returned when the loan is deallocated.
    final class Loan: Sendable {
        let bytes: Int
        private let budget: BufferBudget

        fileprivate init(_ bytes: Int, of budget: BufferBudget) {
            self.bytes = bytes
            self.budget = budget
        }

        deinit { budget.used.withLock { $0 -= bytes } }
    }

    /// Lends the wanted memory, but at most half of what is left, so that something is left for others. If that is less
    /// than ``least``, lends up to ``least`` bytes.
    func lend(_ wanted: Int) -> Loan {
        let bytes = used.withLock { used in
            let bytes = wanted <= Self.least ? wanted : min(wanted, max(Self.least, (limit - used) / 2))
            used += bytes
            return bytes
        }
        return Loan(bytes, of: self)
    }
}
