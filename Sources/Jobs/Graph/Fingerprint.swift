/// A 64-bit FNV-1a hash of a file's content. It guards against mistakes, not against malice.
public struct Fingerprint: Sendable {
    private var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Creates the fingerprint of no bytes.
    public init() {}

    /// The fingerprint of the bytes added so far.
    public var value: Int64 { Int64(bitPattern: hash) }

    /// Adds bytes to the fingerprint.
    public mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    }
}

extension Submission {
    /// The key with the request's fingerprint; nil if the request has no key.
    public var idempotencyKey: IdempotencyKey? {
        key.map { IdempotencyKey(name: $0, fingerprint: fingerprint) }
    }

    /// The fingerprint of the request before names and times are resolved. The key itself is not part of it.
    ///
    /// It is the beginning of the SHA-256 of a JSON text with the fields that the request has, in one order, and with its
    /// inputs in canonical form. So a database can compute it too: the function `halyard.fingerprint` of a PostgreSQL
    /// database does.
    public var fingerprint: Int64 {
        var request = JSONObject()
        switch work {
        case .definition(let name): request.append("definition", JSONText(string: name))
        case .jobs(let jobs, let name):
            request.append("jobs", JSONText(elements: jobs.map(\.canonical)))
            if let name { request.append("name", JSONText(string: name)) }
        }
        if let input { request.append("input", input.canonical) }
        if let queue { request.append("queue", JSONText(string: queue)) }
        if let priority { request.append("priority", JSONText(integer: priority.rawValue)) }
        if !after.isEmpty {
            request.append(
                "after",
                JSONText(elements: after.map { edge($0.condition, JSONText(integer: $0.job.rawValue)) }))
        }
        switch start {
        case .now: break
        case .at(let moment): request.append("at", JSONText(integer: moment.milliseconds))
        case .after(let wait): request.append("in_ms", JSONText(integer: wait.milliseconds))
        }
        return SHA256.prefix(of: request.text.bytes)
    }
}

extension JobRequest {
    fileprivate var canonical: JSONText {
        var job = JSONObject()
        if let node { job.append("node", JSONText(string: node)) }
        job.append("definition", JSONText(string: definition))
        if let input { job.append("input", input.canonical) }
        if let queue { job.append("queue", JSONText(string: queue)) }
        if let priority { job.append("priority", JSONText(integer: priority.rawValue)) }
        if let startAt { job.append("at", JSONText(integer: startAt.milliseconds)) }
        if !after.isEmpty {
            job.append(
                "after",
                JSONText(
                    elements: after.map { dependency in
                        switch dependency.job {
                        case .node(let name): edge(dependency.condition, JSONText(string: name))
                        case .job(let id): edge(dependency.condition, JSONText(integer: id.rawValue))
                        }
                    }))
        }
        return job.text
    }
}

private func edge(_ condition: DependencyCondition, _ job: JSONText) -> JSONText {
    JSONText(elements: [job, JSONText(integer: condition.rawValue)])
}
