import CPowerCut
import Foundation
import Jobs
import SQLite
import Testing

@testable import JobStoreContract
@testable import SQLiteStore

/// P1 and P4 at a power cut: everything SQLite writes and syncs is recorded, disks that a cut could leave are rebuilt from
/// that, and each must open and hold what was acknowledged before the cut.
///
/// (Killing the process proves less: the kernel still writes what the process had written.)
@Suite struct PowerCutTests {
    static let now = Timestamp(milliseconds: 1_750_000_000_000)

    /// Records a run of the writer in a process of its own, which ends without closing anything.
    private func record(synchronous: String) async throws -> Recording {
        let directory = try TemporaryDirectory()
        let path = directory.database
        let store = try directory.open()
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: Self.now)
        await store.close()
        var before: [String: [UInt8]] = [:]
        for file in [path, path + "-wal"] { before[file] = try Array(Data(contentsOf: URL(filePath: file))) }
        await #expect(processExitsWith: .success) { [path = path as String, synchronous = synchronous as String] in
            guard halyard_powercut_record(path + ".log") == 0 else { exit(2) }
            let options = StoreOptions(walBytes: 512 << 10, minimumFreeBytes: 0, checkedBytes: 0)
            let writer = try Writer(try DatabaseLocation(path).openForWriting(options), path: path)
            try writer.connection.execute(text: "PRAGMA synchronous = \(synchronous)")
            let job = NewJob(
                definition: DefinitionID(1), input: JSONText(trusted: [34] + [UInt8](repeating: 120, count: 400) + [34])
            )
            let graph = NewGraph(
                isGraph: true,
                jobs: [
                    job, job,
                    NewJob(
                        definition: DefinitionID(1),
                        dependencies: [NewDependency(on: .new(0)), NewDependency(on: .new(1))]),
                ])
            for round in 0..<80 {
                try writer.begin(isObserved: false)
                guard case .enqueued(let receipt) = try writer.enqueue([graph], now: PowerCutTests.now)[0] else {
                    exit(3)
                }
                try writer.flush()
                try writer.commit()
                halyard_powercut_acknowledge(receipt.jobs[0].rawValue)
                if round % 3 != 0 { continue }
                try writer.begin(isObserved: false)
                let claimed = try writer.claim(ClaimRequest(slots: 2), now: PowerCutTests.now)
                for job in claimed {
                    let end = AttemptEnd(lease: job.lease, ending: .succeeded(JSONText(trusted: Array("true".utf8))))
                    guard try writer.finish(end, now: PowerCutTests.now) == .recorded(.succeeded) else { exit(4) }
                }
                try writer.flush()
                try writer.commit()
                // A negative number: the result of that job.
                for job in claimed { halyard_powercut_acknowledge(-job.lease.job.rawValue) }
                if writer.connection.walPages > 100 { try writer.connection.checkpoint() }
            }
            exit(EXIT_SUCCESS)
        }
        return try Recording(
            log: Array(Data(contentsOf: URL(filePath: path + ".log"))), database: path, contents: before)
    }

    @Test func p1APowerCutLosesNothingAcknowledgedAndTearsNothing() async throws {
        let recording = try await record(synchronous: "FULL")
        let images = try recording.images(seed: 41, limit: 200)
        #expect(images.count > 150)
        for image in images {
            let problems = try image.problems()
            #expect(problems == [], "\(image.name)")
        }
    }

    /// The test of the test above: without a sync at each commit it must find losses.
    @Test func aPowerCutWithoutSyncsIsSeenToLose() async throws {
        let recording = try await record(synchronous: "NORMAL")
        var losses = 0
        for image in try recording.images(seed: 41, limit: 40) where try !image.problems().isEmpty { losses += 1 }
        #expect(losses > 0)
    }
}

/// What the process wrote, in order.
private struct Recording {
    enum Step {
        case write(file: UInt8, offset: Int, bytes: ArraySlice<UInt8>)
        case truncate(file: UInt8, size: Int)
        case sync(file: UInt8)
        case acknowledge(Int64)
    }

    private var steps: [Step] = []
    private var paths: [UInt8: String] = [:]
    private let database: String
    /// Of the files that were there before.
    private let contents: [String: [UInt8]]

    init(log: [UInt8], database: String, contents: [String: [UInt8]]) throws {
        self.database = database
        self.contents = contents
        var at = 0
        func integer(_ width: Int) -> Int64 {
            defer { at += width }
            return log[at..<at + width].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
        while at < log.count {
            let (kind, file) = (Character(Unicode.Scalar(log[at])), log[at + 1])
            at += 2
            let offset = integer(8)
            let count = Int(integer(4))
            let bytes = log[at..<at + count]
            at += count
            switch kind {
            case "o": paths[file] = String(decoding: bytes, as: UTF8.self)
            case "w": steps.append(.write(file: file, offset: Int(offset), bytes: bytes))
            case "t": steps.append(.truncate(file: file, size: Int(offset)))
            case "s": steps.append(.sync(file: file))
            case "a": steps.append(.acknowledge(offset))
            default: throw Malformed(description: "a record of kind \(kind)")
            }
        }
    }

    struct Malformed: Error, CustomStringConvertible { let description: String }

    /// Disks that a cut between two steps could leave: of the writes that were not synced none, all, some, or one of them
    /// in part.
    func images(seed: UInt64, limit: Int) throws -> [Image] {
        var random = SplitMix64(seed: seed)
        var images: [Image] = []
        var durable: [UInt8: [UInt8]] = [:]
        for (file, path) in paths { durable[file] = contents[path] ?? [] }
        var pending: [Step] = []
        var acknowledged: [Int64] = []
        let share = Double(limit) / Double(steps.count * 4)
        for (index, step) in steps.enumerated() {
            switch step {
            case .acknowledge(let number): acknowledged.append(number)
            case .sync(let file):
                for step in pending where step.file == file { durable.apply(step) }
                pending.removeAll { $0.file == file }
            case .write, .truncate: pending.append(step)
            }
            for kind in ["none", "all", "some", "torn"] where Double.random(in: 0..<1, using: &random) < share {
                var files = durable
                let torn = pending.indices.randomElement(using: &random)
                for (position, step) in pending.enumerated() {
                    switch kind {
                    case "all": files.apply(step)
                    case "some": if Bool.random(using: &random) { files.apply(step) }
                    case "torn":
                        if position == torn { files.applyPart(of: step, using: &random) } else { files.apply(step) }
                    default: break
                    }
                }
                let named = files.map { (file, bytes) in (String(paths[file]!.dropFirst(database.count)), bytes) }
                images.append(
                    Image(
                        name: "after step \(index), \(kind) of \(pending.count), seed \(seed)",
                        files: Dictionary(uniqueKeysWithValues: named), acknowledged: acknowledged))
            }
        }
        return images
    }
}

extension Recording.Step {
    fileprivate var file: UInt8? {
        switch self {
        case .write(let file, _, _), .truncate(let file, _), .sync(let file): file
        case .acknowledge: nil
        }
    }
}

extension [UInt8: [UInt8]] {
    fileprivate mutating func apply(_ step: Recording.Step) {
        switch step {
        case .write(let file, let offset, let bytes):
            let end = offset + bytes.count
            if self[file]!.count < end { self[file]! += [UInt8](repeating: 0, count: end - self[file]!.count) }
            self[file]!.replaceSubrange(offset..<end, with: bytes)
        case .truncate(let file, let size):
            let count = self[file]!.count
            if size < count { self[file]!.removeLast(count - size) }
        case .sync, .acknowledge: break
        }
    }

    /// Some of the sectors of a write.
    fileprivate mutating func applyPart(of step: Recording.Step, using random: inout SplitMix64) {
        guard case .write(let file, let offset, let bytes) = step else { return apply(step) }
        for start in stride(from: 0, to: bytes.count, by: 512) where Bool.random(using: &random) {
            let sector = bytes.dropFirst(start).prefix(512)
            apply(.write(file: file, offset: offset + start, bytes: sector))
        }
    }
}

/// A disk after a cut.
private struct Image {
    let name: String
    /// By what follows the database's name.
    let files: [String: [UInt8]]
    let acknowledged: [Int64]

    /// What is wrong when the database is opened on this disk.
    func problems() throws -> [String] {
        let directory = try TemporaryDirectory()
        for (suffix, bytes) in files where !bytes.isEmpty {
            try Data(bytes).write(to: URL(filePath: directory.database + suffix))
        }
        let connection: Connection
        do {
            connection = try DatabaseLocation(directory.database).openForWriting(
                StoreOptions(walBytes: 0, minimumFreeBytes: 0, checkedBytes: .max))
        } catch {
            return ["\(error)"]
        }
        var problems: [String] = []
        let job = connection.prepare("SELECT 1 FROM job WHERE id = :job")
        let result = connection.prepare("SELECT 1 FROM result WHERE job_id = :job")
        for number in acknowledged {
            let isThere: Bool
            if number > 0 {
                job.bind(1, number)
                isThere = try job.step()
                job.reset()
            } else {
                result.bind(1, -number)
                isThere = try result.step()
                result.reset()
            }
            if !isThere { problems.append("\(number) was acknowledged and is lost") }
        }
        let rules: [(String, StaticString)] = [
            (
                "a graph is there in part",
                "SELECT count(*) FROM graph WHERE (SELECT count(*) FROM job WHERE graph_id = graph.id) <> 3"
            ),
            (
                "a final job has no result, or an open one has",
                "SELECT count(*) FROM job LEFT JOIN result ON job_id = job.id WHERE (state >= 4) <> (job_id IS NOT NULL)"
            ),
            (
                "a dependent is free before its dependencies",
                """
                SELECT count(*) FROM job WHERE state > 0 AND EXISTS (
                    SELECT 1 FROM dependency JOIN job AS parent ON parent.id = parent_id
                    WHERE dependency.job_id = job.id AND parent.state < 4)
                """
            ),
            (
                "the tally differs from the jobs",
                "SELECT (SELECT ready + running + blocked + succeeded FROM tally) <> (SELECT count(*) FROM job)"
            ),
        ]
        for (problem, query) in rules where try connection.integer(query) != 0 { problems.append(problem) }
        return problems
    }
}
