import Foundation
import Jobs

@testable import JobStoreContract

/// The writes of processes to a disk that may have failed, in order: see Tests/PowerCut/disk.c.
struct Recording {
    enum Step {
        case write(offset: Int, bytes: ArraySlice<UInt8>)
        case truncate(size: Int)
        case sync
        case failedSync(reached: [Int])
        /// Evicted pages; nil for all that are not dirty.
        case evict([Int]?)
        case link(to: Int)
        case remove
        case acknowledge(Int64)
        /// A checkpoint of a job, with its version.
        case checkpoint(Int64, version: Int)
    }

    static let suffixes = ["", "-wal", "-journal", "-new", "-new-journal"]
    private(set) var steps: [(file: Int, step: Step)] = []

    struct Malformed: Error, CustomStringConvertible { let description: String }

    init(log: [UInt8]) throws {
        var at = 0
        func integer(_ width: Int) -> Int64 {
            defer { at += width }
            return log[at..<at + width].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
        while at < log.count {
            let (kind, file) = (Character(Unicode.Scalar(log[at])), Int(log[at + 1]))
            at += 2
            let offset = Int(integer(8))
            let count = Int(integer(4))
            let bytes = log[at..<at + count]
            func numbers() -> [Int] {
                stride(from: bytes.startIndex, to: bytes.endIndex, by: 4).map { start in
                    log[start..<start + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
                }
            }
            let step: Step =
                switch kind {
                case "w": .write(offset: offset, bytes: bytes)
                case "t": .truncate(size: offset)
                case "s": .sync
                case "f": .failedSync(reached: numbers())
                case "e": .evict(bytes.isEmpty ? nil : numbers())
                case "l": .link(to: Int(bytes.first ?? 0))
                case "u": .remove
                case "a": .acknowledge(Int64(offset))
                case "c": .checkpoint(Int64(offset), version: numbers()[0])
                default: throw Malformed(description: "a record of kind \(kind)")
                }
            at += count
            steps.append((file, step))
        }
    }

    var acknowledgements: Int { steps.count { if case .acknowledge = $0.step { true } else { false } } }

    var checkpoints: Int { steps.count { if case .checkpoint = $0.step { true } else { false } } }

    /// The contents of the disk after the last step.
    func finalDisk() -> [DiskFile] {
        var files = Self.suffixes.map { _ in DiskFile() }
        for (file, step) in steps { Self.apply(step, to: file, of: &files) }
        return files
    }

    private static func apply(_ step: Step, to file: Int, of files: inout [DiskFile]) {
        switch step {
        case .link(let other): files[other] = files[file]
        case .acknowledge, .checkpoint: break
        default: files[file].apply(step)
        }
    }

    /// Visits disks that a power cut between two steps could leave: with none, all or some of the unsynced pages, or
    /// some of their sectors.
    ///
    /// - Parameter limit: The approximate number of disks.
    func forEachImage(seed: UInt64, limit: Int, _ body: (Image) throws -> Void) throws {
        var random = SplitMix64(seed: seed)
        var files = Self.suffixes.map { _ in DiskFile() }
        var acknowledged: [Int64] = []
        var checkpoints: [Int64: Int] = [:]
        let share = Double(limit) / Double(steps.count * 4)
        for (index, (file, step)) in steps.enumerated() {
            switch step {
            case .acknowledge(let number): acknowledged.append(number)
            case .checkpoint(let job, let version): checkpoints[job] = version
            default: break
            }
            Self.apply(step, to: file, of: &files)
            for survival in Survival.allCases where Double.random(in: 0..<1, using: &random) < share {
                var contents: [String: [UInt8]] = [:]
                for (suffix, file) in zip(Self.suffixes, files) where !file.isMissing {
                    contents[suffix] = file.afterCut(survival, using: &random)
                }
                try body(
                    Image(
                        name: "a cut after step \(index) of \(steps.count), \(survival) survive, seed \(seed)",
                        files: contents, acknowledged: acknowledged, checkpoints: checkpoints))
            }
        }
    }
}
