/// A 64-bit FNV-1a hash of a request in its canonical form, or of a file's content. It shows whether a key is used for
/// the same request again. It guards against mistakes, not against malice.
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

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    }

    mutating func add(_ number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { add(CollectionOfOne(UInt8(truncatingIfNeeded: number >> shift))) }
    }

    /// Adds the length first, so that different sequences of texts have different fingerprints.
    mutating func add(_ text: String?) {
        add(text.map { Int64($0.utf8.count) } ?? -1)
        if let text { add(text.utf8) }
    }

    /// Adds the canonical form, so that the order of names and the space between values do not matter.
    mutating func add(_ json: JSONText?) {
        let canonical = json?.canonical
        add(canonical.map { Int64($0.bytes.count) } ?? -1)
        if let canonical { add(canonical.bytes) }
    }
}

extension Submission {
    /// The key with the request's fingerprint; nil if the request has no key.
    public var idempotencyKey: IdempotencyKey? {
        key.map { IdempotencyKey(name: $0, fingerprint: fingerprint) }
    }

    /// The fingerprint of the request before names and times are resolved. The key itself is not part of it.
    public var fingerprint: Int64 {
        var print = Fingerprint()
        switch work {
        case .definition(let name):
            print.add(Int64(0))
            print.add(name)
        case .jobs(let jobs, let name):
            print.add(Int64(1))
            print.add(name)
            print.add(Int64(jobs.count))
            for job in jobs { job.add(to: &print) }
        }
        print.add(input)
        print.add(queue)
        print.add(priority.map { Int64($0.rawValue) } ?? .min)
        print.add(Int64(after.count))
        for dependency in after {
            print.add(dependency.job.rawValue)
            print.add(Int64(dependency.condition.rawValue))
        }
        switch start {
        case .now: print.add(Int64(0))
        case .at(let moment):
            print.add(Int64(1))
            print.add(moment.milliseconds)
        case .after(let wait):
            print.add(Int64(2))
            print.add(wait.milliseconds)
        }
        return print.value
    }
}

extension JobRequest {
    fileprivate func add(to print: inout Fingerprint) {
        print.add(node)
        print.add(definition)
        print.add(input)
        print.add(queue)
        print.add(priority.map { Int64($0.rawValue) } ?? .min)
        print.add(startAt?.milliseconds ?? .min)
        print.add(Int64(after.count))
        for dependency in after {
            switch dependency.job {
            case .node(let name): print.add(name)
            case .job(let id):
                print.add(nil as String?)
                print.add(id.rawValue)
            }
            print.add(Int64(dependency.condition.rawValue))
        }
    }
}
