import Dispatch
import Foundation
import JobFiles
import Jobs
import Testing

@Suite struct RotationTests {
    private static let limit = 1 << 18

    @Test(arguments: [0, 7, 300, 5000])
    func bothEndsOfALogAreKeptInWholeLines(extra: Int) throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first, limit: Self.limit)
        var written: Int64 = 0
        let count = 20_000
        for number in 0..<count {
            let line = "\(number) " + String(repeating: "x", count: extra == 0 ? 0 : number % extra) + "\n"
            written += Int64(line.utf8.count)
            log.append(line)
        }
        log.finish()
        let size = try folder.files().reduce(0) { sum, name in
            let facts = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
            return sum + (facts[.size] as? Int ?? 0)
        }
        #expect(size <= Self.limit + 6 * 100)
        let entries = try files.entries()
        #expect(entries.checkOffsets() == written)
        #expect(entries.lines.allSatisfy { $0.isWhole })
        let numbers = try entries.texts.map { try #require(Int($0.prefix { $0 != " " })) }
        guard let gap = entries.gaps.first else {
            #expect(written < Self.limit && numbers == Array(0..<count))
            return
        }
        #expect(entries.gaps.count == 1)
        let split = entries.firstIndex(of: .leftOut(gap))!
        #expect(numbers[..<split] == ArraySlice(0..<split))
        let after = numbers[split...]
        #expect(Array(after) == Array((count - after.count)..<count))
        #expect(Int(gap.lines) == count - numbers.count)
        // Rotation keeps at least three eighths of the limit as the end of the log.
        let kept = entries[split...].map { entry in
            if case .line(let line) = entry { line.bytes.count + 1 } else { 0 }
        }.reduce(0, +)
        #expect(kept > Self.limit * 3 / 8 - 6000)
    }

    @Test func oneChunkMayFillManySegments() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first, limit: 4096)
        let chunk = (0..<5000).map { "line \($0)\n" }.joined()
        log.append(chunk)
        log.finish()
        let entries = try files.entries()
        #expect(entries.checkOffsets() == Int64(chunk.utf8.count))
        #expect(entries.texts.first == "line 0")
        #expect(entries.texts.last == "line 4999")
        #expect(try folder.files().count <= 5)
    }

    /// The reader keeps all files open that it needs, so a rotation cannot remove lines that it has not read.
    @Test func aReaderThatKeepsUpGetsEveryLineOnceInOrder() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first, limit: 64 << 10)
        var reader = try #require(try files.readLog(of: .first))
        var entries: [LogEntry] = []
        for round in 0..<2000 {
            log.append((0..<10).map { "line \(round * 10 + $0)\n" }.joined())
            entries += try reader.rest()
        }
        log.finish()
        entries += try reader.rest()
        #expect(entries.texts == (0..<20_000).map { "line \($0)" })
        #expect(entries.gaps.isEmpty)
        #expect(entries.end == .finished)
        #expect(try files.entries().gaps.count == 1)
    }

    /// The reader and the writer use different threads: missed lines are reported as a gap, and no line repeats.
    @Test func aReaderOnAnotherThreadMissesNothingUnreported() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first, limit: 32 << 10)
        let wakeup = Wakeup()
        let observation = files.observe(JobID(41)) { wakeup.wake() }
        defer { observation.cancel() }
        let count = 60_000
        let writer = Thread {
            for number in 0..<count { log.append("line \(number)\n") }
            log.finish()
        }
        writer.start()
        var reader = try #require(try files.readLog(of: .first))
        var entries: [LogEntry] = []
        while !reader.isAtEnd {
            let next = try reader.next()
            if next.isEmpty, !reader.isAtEnd { wakeup.wait() }
            entries += next
        }
        let bytes = (0..<count).reduce(0) { $0 + "line \($1)\n".utf8.count }
        #expect(entries.checkOffsets() == Int64(bytes))
        #expect(entries.lines.count + entries.gaps.reduce(0) { $0 + Int($1.lines) } == count)
        #expect(entries.end == .finished)
    }
}
