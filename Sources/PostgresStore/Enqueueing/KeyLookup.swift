import Jobs
import PostgreSQL

/// Looks up the request that first used an idempotency key.
enum KeyLookup {
    static let find = Statement(
        "SELECT key, fingerprint, graph, first_job, jobs FROM halyard.idempotency WHERE key = ANY ($1::text[])")

    /// The request that first used a key.
    struct Entry {
        let fingerprint: Int64
        let receipt: EnqueueReceipt
    }

    /// The entries in the answer to ``find``, by key.
    static func entries(_ rows: Rows) -> [String: Entry] {
        var found: [String: Entry] = [:]
        rows.forEach { row in
            let first = row.integer(3)
            let jobs = (first..<first + row.integer(4)).map(JobID.init(_:))
            found[row.string(0)] = Entry(
                fingerprint: row.integer(1), receipt: EnqueueReceipt(graph: row.graph(2), jobs: jobs))
        }
        return found
    }

    /// The answer to a request with this key; nil if the key is unused.
    static func outcome(of key: IdempotencyKey, _ found: [String: Entry]) -> EnqueueOutcome? {
        found[key.name].map {
            $0.fingerprint == key.fingerprint
                ? .duplicate($0.receipt) : .refused(.keyUsedForAnotherRequest(key: key.name))
        }
    }
}
