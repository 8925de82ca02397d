import Jobs
import PostgreSQL
import StoreParts

/// The idempotency keys of the graphs that one transaction may accept.
///
/// - K1: A transaction inserts its new keys before it locks any row, and in one order. So two transactions with the same
///   keys wait for each other only here, and neither has what the other needs.
/// - K2: The graph that loses the race for a key is answered like a repetition: the other transaction has committed.
/// - K3: The key of a graph that is not accepted is deleted again in the same transaction.
struct NewKeys {
    /// The requests that have used keys, by key.
    private(set) var known: [String: KeyLookup.Entry] = [:]
    /// The numbers of the graphs and of their first jobs, by index; empty if no key is new.
    fileprivate(set) var numbers: [Int: (graph: GraphID?, first: Int64)] = [:]
    /// The indexes of the graphs with whose numbers new keys were inserted, by key, until a graph is accepted.
    fileprivate var unused: [String: Int] = [:]

    fileprivate init() {}

    fileprivate mutating func note(_ entries: [String: KeyLookup.Entry]) { known.merge(entries) { $1 } }
}

extension Writer {
    /// Inserts the keys that no request has used yet (K1, K2).
    func insertKeys(of graphs: [NewGraph]) throws(PostgresError) -> NewKeys {
        var keys = NewKeys()
        let names = graphs.compactMap(\.key?.name)
        if names.isEmpty { return keys }
        keys.note(KeyLookup.entries(try run(KeyLookup.find, .texts(names))))
        var first: [String: Int] = [:]
        for (index, graph) in graphs.enumerated() where graph.hiddenText == nil {
            guard let name = graph.key?.name, keys.known[name] == nil, first[name] == nil else { continue }
            first[name] = index
        }
        if first.isEmpty { return keys }
        try number(graphs, in: &keys)
        let sorted = first.sorted { $0.key < $1.key }
        let firsts = sorted.map { keys.numbers[$0.value]! }
        let inserted = try run(
            Statements.insert, .texts(sorted.map(\.key)),
            .integers(sorted.map { graphs[$0.value].key!.fingerprint }), .optionalGraphs(firsts.map(\.graph)),
            .integers(firsts.map(\.first)), .integers(sorted.map { Int64(graphs[$0.value].jobs.count) })
        ).map { $0.string(0) }
        for name in inserted { keys.unused[name] = first.removeValue(forKey: name) }
        if first.isEmpty { return keys }
        let lost = KeyLookup.entries(try run(KeyLookup.find, .texts(Array(first.keys))))
        guard lost.count == first.count else {
            // The jobs of the key were pruned meanwhile.
            throw PostgresError(.refused, sqlState: SQLState.serialization, message: "a key was just removed")
        }
        keys.note(lost)
        return keys
    }

    /// Takes numbers for the graphs that are not answered yet, in their order.
    private func number(_ graphs: [NewGraph], in keys: inout NewKeys) throws(PostgresError) {
        let open = graphs.indices.filter { index in graphs[index].key.map { keys.known[$0.name] == nil } ?? true }
        var job = try takeJobs(open.reduce(0) { $0 + Int64(graphs[$1].jobs.count) })
        let count = Int64(open.count { graphs[$0].isGraph })
        var graph = count > 0 ? try take(count, from: "halyard.graph_number") : 0
        for index in open {
            keys.numbers[index] = (graphs[index].isGraph ? GraphID(graph) : nil, job)
            graph += graphs[index].isGraph ? 1 : 0
            job += Int64(graphs[index].jobs.count)
        }
    }

    /// Stores the numbers of the accepted graphs with their keys.
    func use(_ accepted: [(index: Int, key: IdempotencyKey, receipt: EnqueueReceipt)], _ keys: inout NewKeys)
        throws(PostgresError)
    {
        for (index, key, receipt) in accepted {
            // Another graph with the same key came first and was refused.
            if keys.unused.removeValue(forKey: key.name) != index {
                try run(
                    Statements.update, .text(key.name), .integer(key.fingerprint), .graph(receipt.graph),
                    .job(receipt.jobs[0]), .integer(receipt.jobs.count))
            }
            keys.note([key.name: KeyLookup.Entry(fingerprint: key.fingerprint, receipt: receipt)])
        }
    }

    /// Deletes the keys that no accepted graph uses (K3).
    func dropUnused(_ keys: NewKeys) throws(PostgresError) {
        if !keys.unused.isEmpty { try run(Statements.delete, .texts(Array(keys.unused.keys))) }
    }

    private enum Statements {
        static let insert = Statement(
            """
            INSERT INTO halyard.idempotency (key, fingerprint, graph, first_job, jobs)
            SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
            ON CONFLICT (key) DO NOTHING
            RETURNING key
            """)
        static let update = Statement(
            """
            UPDATE halyard.idempotency
            SET    fingerprint = $2::bigint, graph = $3::bigint, first_job = $4::bigint, jobs = $5::bigint
            WHERE  key = $1::text
            """)
        static let delete = Statement("DELETE FROM halyard.idempotency WHERE key = ANY ($1::text[])")
    }
}
