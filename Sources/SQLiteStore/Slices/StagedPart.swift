import Jobs

/// A part of a large graph, or of very many small graphs, stored in the database until its jobs are written. Its bytes
/// are private to the store. A job with very many dependencies continues in the following parts.
struct StagedPart {
    struct Entry {
        /// The job's index among all jobs of the request.
        var index: Int
        /// The number of the small graph that the job belongs to, counted from 1; nil if it belongs to none.
        var graph: Int?
        /// The small graph that begins with this job.
        var beginning: Graph?
        /// Nil if the job itself is in an earlier part.
        var job: Job?
        /// The position of the first of these dependencies among all dependencies of the job.
        var position: Int
        var dependencies: [NewDependency]
    }

    struct Graph {
        var name: String?
        var jobs: Int
    }

    /// A job without its dependencies and without the name of its queue.
    struct Job {
        var new: NewJob
        var queue: Int
        var dependencyCount: Int
    }

    var entries: [Entry]

    // MARK: Dividing a graph

    private static let maxBytes = 128 << 10

    /// Divides graphs into parts that are small enough to be written in one slice, with dependencies before
    /// dependents.
    ///
    /// - Parameters:
    ///   - together: Whether these are many small graphs and lone jobs. Each is then in a single part, so that it is
    ///     written in one slice.
    ///   - queues: The index of each queue by name.
    static func divide(
        _ graphs: [NewGraph], orders: [[Int]], together: Bool = false, queues: [String: Int],
        _ body: ([UInt8], _ rows: Int) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var part = Packing(queues: queues)
        var first = 0
        var number = 0
        for (graph, order) in zip(graphs, orders) {
            if together, graph.isGraph {
                number += 1
                part.begin(graph, number: number)
            }
            for index in order {
                var position = 0
                repeat {
                    position = part.add(graph.jobs[index], at: index, from: position, first: first)
                    if !together, part.isFull { try await part.store(body) }
                } while position < graph.jobs[index].dependencies.count
            }
            first += graph.jobs.count
            if part.isFull { try await part.store(body) }
        }
        if !part.isEmpty { try await part.store(body) }
    }

    /// A part that is being filled.
    private struct Packing {
        let queues: [String: Int]
        private var bytes: [UInt8] = []
        private var rows = 0

        init(queues: [String: Int]) { self.queues = queues }

        var isEmpty: Bool { bytes.isEmpty }
        var isFull: Bool { rows >= Writer.rowsPerSlice / 2 || bytes.count >= maxBytes }

        mutating func begin(_ graph: NewGraph, number: Int) {
            bytes.append(number: number)
            bytes.append(number: graphTag)
            bytes.append(text: graph.name.map { Array($0.utf8) })
            bytes.append(number: graph.jobs.count)
            rows += 1
        }

        /// Adds a job, or more of its dependencies.
        ///
        /// - Parameter first: The index of the graph's first job among all jobs of the request.
        /// - Returns: The position after the last added dependency.
        mutating func add(_ job: NewJob, at index: Int, from position: Int, first: Int) -> Int {
            let count = min(job.dependencies.count - position, Writer.rowsPerSlice / 2)
            bytes.append(number: first + index)
            bytes.append(number: position == 0 ? jobTag : 0)
            if position == 0 { bytes.append(job, queue: queues[job.queue] ?? 0) }
            bytes.append(number: position)
            bytes.append(number: count)
            for dependency in job.dependencies[position..<position + count] { bytes.append(dependency, first: first) }
            rows += count + (position == 0 ? 2 : 0)
            return position + count
        }

        mutating func store(
            _ body: ([UInt8], _ rows: Int) async throws(StoreError) -> Void
        ) async throws(StoreError) {
            try await body(bytes, rows)
            (bytes, rows) = ([], 0)
        }
    }

    // The number after an entry's index is a tag for the content that follows: a job, a graph, or, if it is 0, more
    // dependencies of the same job.
    private static let jobTag = 1
    private static let graphTag = 2

    // MARK: Reading

    /// Decodes a part. Nil if the bytes are not a valid part, because another program changed the database.
    init?(_ bytes: [UInt8]) {
        var rest = bytes[...]
        entries = []
        var graph: (number: Int, jobsLeft: Int)?
        var beginning: Graph?
        while !rest.isEmpty {
            guard let index = rest.popCount(), let tag = rest.popNumber() else { return nil }
            if tag == Self.graphTag {
                guard let name = rest.popText(), let jobs = rest.popCount(), index > 0, jobs > 0 else { return nil }
                beginning = Graph(name: name.bytes.map { String(decoding: $0, as: UTF8.self) }, jobs: jobs)
                graph = (index, jobs)
                continue
            }
            var job: Job?
            if tag == Self.jobTag {
                guard let found = Job(&rest) else { return nil }
                job = found
                if graph?.jobsLeft == 0 { graph = nil }
                graph?.jobsLeft -= 1
            }
            guard let position = rest.popCount(), let count = rest.popCount(), count <= rest.count else { return nil }
            var dependencies: [NewDependency] = []
            dependencies.reserveCapacity(count)
            for _ in 0..<count {
                guard let isNew = rest.popNumber(), let number = rest.popCount(), let condition = rest.popNumber(),
                    let condition = DependencyCondition(rawValue: condition)
                else { return nil }
                dependencies.append(
                    NewDependency(
                        on: isNew == 1 ? .new(number) : .existing(JobID(Int64(number))), condition: condition))
            }
            entries.append(
                Entry(
                    index: index, graph: graph?.number, beginning: beginning, job: job, position: position,
                    dependencies: dependencies))
            beginning = nil
        }
    }
}

extension StagedPart.Job {
    fileprivate init?(_ bytes: inout ArraySlice<UInt8>) {
        guard let definition = bytes.popNumber(), let node = bytes.popText(), let input = bytes.popText(),
            let queue = bytes.popNumber(), let priority = bytes.popNumber(), let start = bytes.popStart(),
            let repeats = bytes.popOptionalNumber(), let dependencyCount = bytes.popCount()
        else { return nil }
        new = NewJob(
            definition: DefinitionID(Int64(definition)), node: node.bytes.map { String(decoding: $0, as: UTF8.self) },
            input: input.bytes.map { JSONText(trusted: $0) }, priority: Priority(rawValue: priority) ?? .normal,
            start: start, repeats: repeats.number.map { JobID(Int64($0)) })
        (self.queue, self.dependencyCount) = (queue, dependencyCount)
    }
}

extension [UInt8] {
    /// Appends a zigzag-encoded number, seven bits per byte.
    fileprivate mutating func append(number: Int) {
        var rest = UInt64(bitPattern: Int64(number << 1) ^ Int64(number >> 63))
        while rest >= 128 {
            append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    fileprivate mutating func append(text: [UInt8]?) {
        guard let text else { return append(number: -1) }
        append(number: text.count)
        append(contentsOf: text)
    }

    fileprivate mutating func append(optional number: Int64?) {
        append(number: number == nil ? 0 : 1)
        if let number { append(number: Int(number)) }
    }

    fileprivate mutating func append(_ job: NewJob, queue: Int) {
        append(number: Int(job.definition.rawValue))
        append(text: job.node.map { Array($0.utf8) })
        append(text: job.input?.bytes)
        append(number: queue)
        append(number: job.priority.rawValue)
        append(job.start)
        append(optional: job.repeats?.rawValue)
        append(number: job.dependencies.count)
    }

    fileprivate mutating func append(_ start: Submission.Start) {
        switch start {
        case .now: append(number: 0)
        case .at(let moment):
            append(number: 1)
            append(number: Int(moment.milliseconds))
        case .after(let wait):
            append(number: 2)
            append(number: Int(wait.milliseconds))
        }
    }

    fileprivate mutating func append(_ dependency: NewDependency, first: Int) {
        switch dependency.job {
        case .new(let index):
            append(number: 1)
            append(number: first + index)
        case .existing(let job):
            append(number: 0)
            append(number: Int(job.rawValue))
        }
        append(number: dependency.condition.rawValue)
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func popNumber() -> Int? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = popFirst(), shift < 64 {
            value |= UInt64(byte & 127) << shift
            if byte < 128 { return Int(Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)) }
            shift += 7
        }
        return nil
    }

    /// Reads a number to which others are added. Nil if it is negative, or so large that a sum could overflow.
    fileprivate mutating func popCount() -> Int? {
        guard let number = popNumber(), (0...Int(Memory.maxNumber)).contains(number) else { return nil }
        return number
    }

    /// Reads an optional text. Nil if the bytes are invalid; `bytes` is nil if there is no text.
    fileprivate mutating func popText() -> (bytes: [UInt8]?, Void)? {
        guard let count = popNumber(), count <= self.count else { return nil }
        if count < 0 { return (nil, ()) }
        defer { removeFirst(count) }
        return (Array(prefix(count)), ())
    }

    fileprivate mutating func popStart() -> Submission.Start? {
        switch popNumber() {
        case 0: .now
        case 1: popNumber().map { .at(Timestamp(milliseconds: Int64($0))) }
        case 2: popCount().map { .after(.milliseconds($0)) }
        default: nil
        }
    }

    fileprivate mutating func popOptionalNumber() -> (number: Int?, Void)? {
        guard let isThere = popNumber() else { return nil }
        if isThere == 0 { return (nil, ()) }
        return popNumber().map { ($0, ()) }
    }
}
