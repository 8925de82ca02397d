import Foundation
import Glibc
import JobFiles
import Jobs
import Synchronization
import Testing

@Suite struct LogTests {
    @Test func linesComeBackWithTheirTimes() throws {
        let folder = try TemporaryFolder()
        let clock = TestClock()
        let files = JobFiles.inside(folder, clock: clock)
        let log = try files.beginLog(of: .first)
        log.append("one\ntwo\n")
        clock.advance(by: .seconds(90))
        log.append("\nfour\n")
        clock.advance(by: .seconds(-3600))
        log.append("five\n")
        log.finish()
        let entries = try files.entries()
        #expect(entries.texts == ["one", "two", "", "four", "five"])
        let start = TestClock.start
        // A clock that goes backwards does not change the order of the lines.
        #expect(
            entries.lines.map(\.arrivedAt)
                == [start, start, start + .seconds(90), start + .seconds(90), start + .seconds(90)])
        #expect(entries.lines.allSatisfy { $0.isWhole })
        #expect(entries.end == .finished)
        #expect(entries.checkOffsets() == 19)
    }

    @Test func chunksAreJoinedToLines() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first)
        for byte in "größe\nprompt> ".utf8 { log.append([byte]) }
        #expect(try files.entries().texts == ["größe"])
        log.finish()
        let entries = try files.entries()
        #expect(entries.texts == ["größe", "prompt> "])
        #expect(entries.lines.map(\.isWhole) == [true, false])
    }

    @Test func anyBytesAreKept() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first)
        let line: [UInt8] = [0xFF, 0x00, 0x1B, 0x20, 0x2B, 0x0D, 0x80]
        log.append(line + [0x0A])
        log.finish()
        #expect(try files.entries().lines.map(\.bytes) == [line])
    }

    @Test func aLongLineIsCutInPiecesBetweenCharacters() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first)
        let text = String(repeating: "ä€", count: 60_000)
        log.append(text + "\nnext\n")
        log.finish()
        let lines = try files.entries().lines
        #expect(lines.count > 3)
        #expect(lines.dropLast().allSatisfy { $0.bytes.count <= 64 << 10 })
        #expect(lines.allSatisfy { String(validating: $0.bytes, as: UTF8.self) != nil })
        #expect(lines.map(\.isWhole).filter(\.self).count == 2)
        #expect(lines.dropLast().flatMap(\.bytes) == Array(text.utf8))
    }

    @Test func aLogIsReadFromAnyLineOn() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first, limit: 1 << 20)
        for number in 0..<200_000 { log.append("line \(number)\n") }
        log.finish()
        let all = try files.entries()
        #expect(all.gaps.count == 1)
        for index in stride(from: 0, to: all.count - 1, by: 9_973) {
            guard case .line(let line) = all[index] else { continue }
            let rest = try files.entries(from: line.offset)
            #expect(rest == Array(all[index...]))
        }
        // Reading from an offset inside the gap begins with the line after it.
        let gap = try #require(all.gaps.first)
        #expect(try files.entries(from: gap.offset + gap.bytes / 2).lines.first?.offset == gap.offset + gap.bytes)
        #expect(try files.entries(from: 1 << 40).lines.isEmpty)
    }

    @Test func theSummaryHasTheLastLines() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first, limit: 1 << 18)
        #expect(try files.summary(of: Lease(job: JobID(7), attempt: 1)) == nil)
        var bytes: Int64 = 0
        for number in 0..<100_000 {
            let line = "line \(number)\n"
            bytes += Int64(line.utf8.count)
            log.append(line)
        }
        let open = try #require(try files.summary(of: .first, lastLines: 3))
        #expect(open.log == LogSummary(attempt: 1, bytes: bytes, lines: 100_000, isOpen: true))
        log.finish()
        let done = try #require(try files.summary(of: .first, lastLines: 3))
        #expect(done.log == LogSummary(attempt: 1, bytes: bytes, lines: 100_000, isOpen: false))
        #expect(
            done.lines.map { String(decoding: $0.bytes, as: UTF8.self) } == ["line 99997", "line 99998", "line 99999"])
        #expect(try files.summary(of: .first)?.log == done.log)
    }

    /// A program could write faster than a reader of its lines reads, so the summary must not read them.
    @Test func theSizeOfALiveLogIsKnownWithoutReadingItsLines() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first)
        log.append("one\ntwo\nrest")
        // A reader would stop after the header.
        #expect(truncate(folder.path + "/files/0/41/1.log", 100) == 0)
        #expect(try files.entries().isEmpty)
        #expect(try files.summary(of: .first)?.log == LogSummary(attempt: 1, bytes: 8, lines: 2, isOpen: true))
        log.finish()
        #expect(try files.summary(of: .first)?.log == LogSummary(attempt: 1, bytes: 12, lines: 2, isOpen: false))
    }

    @Test func theLastLinesOfALiveLogAreReturned() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first)
        for number in 0..<10_000 { log.append("line \(number)\n") }
        let summary = try #require(try files.summary(of: .first, lastLines: 2))
        #expect(summary.log.isOpen)
        #expect(summary.lines.map { String(decoding: $0.bytes, as: UTF8.self) } == ["line 9998", "line 9999"])
        log.finish()
    }

    /// Runs a closure when the files ask for the time, which a log does immediately before it creates its file.
    private final class Moment: Sendable {
        private let action = Mutex<(@Sendable () -> Void)?>(nil)

        func set(_ body: @escaping @Sendable () -> Void) { action.withLock { $0 = body } }

        func run() {
            let body = action.withLock { $0 }
            action.withLock { $0 = nil }
            body?()
        }
    }

    @Test func aLogIsLiveBeforeItsFileExists() throws {
        let folder = try TemporaryFolder()
        let moment = Moment()
        let files = JobFiles(folder: folder.path + "/files") {
            moment.run()
            return TestClock.start
        }
        let path = folder.path + "/files/0/41/1.log"
        let seen = Mutex<[String]>([])
        moment.set {
            let facts = "live: \(files.isLive(.first)), file: \(access(path, F_OK) == 0)"
            seen.withLock { $0.append(facts) }
        }
        let log = try files.beginLog(of: .first)
        #expect(seen.withLock(\.self) == ["live: true, file: false"])
        log.finish()
        // A log that fails to begin is not live.
        let other = Lease(job: JobID(41), attempt: 2)
        moment.set { _ = mkdir(folder.path + "/files/0/41/2.log", 0o700) }
        #expect(throws: JobFilesError.self) { try files.beginLog(of: other) }
        #expect(!files.isLive(other))
    }

    @Test func eachAttemptHasItsLog() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        for attempt in [1, 2, 11] {
            let log = try files.beginLog(of: Lease(job: JobID(41), attempt: attempt))
            log.append("attempt \(attempt)\n")
            log.finish()
        }
        #expect(try files.attemptsWithLog(of: JobID(41)) == [1, 2, 11])
        #expect(try files.attemptsWithLog(of: JobID(4)).isEmpty)
        #expect(try files.entries(Lease(job: JobID(41), attempt: 2)).texts == ["attempt 2"])
        #expect(try files.readLog(of: Lease(job: JobID(41), attempt: 3)) == nil)
        // Beginning the log again replaces it, for example if an earlier daemon began the attempt.
        let again = try files.beginLog(of: Lease(job: JobID(41), attempt: 2))
        again.append("again\n")
        again.finish()
        #expect(try files.entries(Lease(job: JobID(41), attempt: 2)).texts == ["again"])
    }

    @Test func nothingFollowsTheEnd() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        let log = try files.beginLog(of: .first)
        log.append("a\n")
        log.finish()
        log.append("b\n")
        log.finish()
        #expect(try files.entries().texts == ["a"])
        #expect(!files.isLive(.first))
    }

    @Test func aForgottenLogEnds() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder)
        do {
            let log = try files.beginLog(of: .first)
            log.append("a")
        }
        #expect(try files.entries().end == .finished)
    }

    /// A program must not be able to speak as the daemon.
    @Test func theDaemonsLogTellsTheDaemonsLinesFromTheAttempts() throws {
        let folder = try TemporaryFolder()
        let files = JobFiles.inside(folder, clock: TestClock())
        let lines = LockedLines()
        let log = try files.beginLog(of: .first, onLines: { lines.add($0) })
        log.append("halyard: by the program\nin line")
        log.append("\n")
        log.note("halyard: by the daemon")
        log.append("more")
        log.finish()
        #expect(lines.all == ["halyard: by the program", "in line", "halyard: by the daemon", "more"])
        #expect(lines.own == ["halyard: by the daemon"])
        #expect(try files.entries().texts == lines.all)
    }

    @Test func theDaemonsLogGetsABoundedNumberOfReadableLines() throws {
        let folder = try TemporaryFolder()
        let clock = TestClock()
        let files = JobFiles.inside(folder, clock: clock)
        let lines = LockedLines()
        let log = try files.beginLog(of: .first, onLines: { lines.add($0) })
        for number in 0..<250 { log.append("line \(number)\u{1B}[2J\n") }
        #expect(lines.all.count == 100)
        #expect(lines.all.first == "line 0_[2J")
        clock.advance(by: .seconds(1))
        log.append(String(repeating: "x", count: 5000))
        log.finish()
        #expect(lines.all.count == 102)
        #expect(lines.all[100] == "150 more lines are not shown here; see halyard log")
        #expect(lines.all[101] == String(repeating: "x", count: 4096) + "…")
        #expect(lines.own == [lines.all[100]])
        #expect(try files.entries().lines.count == 251)
    }
}
