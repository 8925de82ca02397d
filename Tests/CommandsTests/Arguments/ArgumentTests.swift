import ControlProtocol
import Glibc
import Jobs
import Testing

@testable import Commands

@Suite struct ArgumentTests {
    @Test(
        arguments: [
            ("2026-07-25T10:00:00Z", 0), ("2026-07-25T10:00Z", 0), ("2026-07-25 10:00:00.250Z", 250),
            ("2026-07-25T12:00+02:00", 0), ("2026-07-25T06:30:10-03:30", 10_000),
        ] as [(String, Int64)])
    func aMomentWithAZoneIsThatMoment(text: String, offset: Int64) throws {
        let argument = try #require(TimeArgument(argument: text))
        #expect(argument.moment(now: Timestamp(milliseconds: 0)) == Samples.now + .milliseconds(offset))
    }

    @Test(arguments: [("2026-07-25 18:30:15", 18, 30, 15), ("2026-07-25T18:30", 18, 30, 0), ("2026-07-25", 0, 0, 0)])
    func aMomentWithoutAZoneIsLocal(text: String, hour: Int32, minute: Int32, second: Int32) throws {
        let moment = try #require(TimeArgument(argument: text)).moment(now: Samples.now)
        let parts = local(moment)
        #expect((parts.tm_year, parts.tm_mon, parts.tm_mday) == (126, 6, 25))
        #expect((parts.tm_hour, parts.tm_min, parts.tm_sec) == (hour, minute, second))
    }

    @Test func aTimeOfDayIsItsNextOccurrence() throws {
        let later = Samples.now + .seconds(90)
        let earlier = Samples.now + .seconds(-90)
        for (moment, expected) in [(later, later), (earlier, earlier + .seconds(86_400))] {
            let parts = local(moment)
            let text = [parts.tm_hour, parts.tm_min, parts.tm_sec]
                .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
            #expect(try #require(TimeArgument(argument: text)).moment(now: Samples.now) == expected)
        }
    }

    private func local(_ moment: Timestamp) -> tm {
        var seconds = time_t(moment.milliseconds / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts
    }

    @Test(arguments: ["", "tomorrow", "2026-02-30", "2026-07-25T25:00Z", "18", "18:60", "18:00Z", "2026-07-25T10:00+1"])
    func whatIsNoMomentIsRefused(text: String) {
        #expect(TimeArgument(argument: text) == nil)
    }

    @Test func workIsAJobOrAGraph() {
        #expect(WorkArgument(argument: "41") == .job(JobID(41)))
        #expect(WorkArgument(argument: "graph:7") == .graph(GraphID(7)))
        for text in ["0", "-1", "graph:", "graph:x", "x", "41 "] { #expect(WorkArgument(argument: text) == nil) }
        #expect(WatchArgument(argument: "all") == .all)
    }

    @Test func afterNamesAJobAndACondition() {
        #expect(AfterArgument(argument: "41")?.condition == .succeeded)
        #expect(AfterArgument(argument: "41:finished")?.condition == .finished)
        for text in ["41:", "41:failed", ":finished", "x"] { #expect(AfterArgument(argument: text) == nil) }
    }

    @Test func theCodeOfSeveralJobsIsTheWorst() {
        #expect(ExitCode(states: []) == .success)
        #expect(ExitCode(states: [.succeeded]) == .success)
        #expect(ExitCode(states: [.succeeded, .skipped]) == .jobSkipped)
        #expect(ExitCode(states: [.skipped, .cancelled]) == .jobCancelled)
        #expect(ExitCode(states: [.skipped, .cancelled, .failed]) == .jobFailed)
        #expect(ExitCode(states: [.failed, .running]) == .jobOpen)
    }

    @Test func linesKeepTheirNumbers() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let text = Array("one\n\n  \nfour\r\nmuch too long\nlast".utf8)
        #expect(write(ends[1], text, text.count) == text.count)
        close(ends[1])
        defer { close(ends[0]) }
        var reader = LineReader(ByteReader(descriptor: ends[0], name: "pipe"), limit: 8)
        var lines: [LineReader.Line] = []
        while let more = try reader.next() { lines += more }
        #expect(lines.map(\.number) == [1, 4])
        #expect(lines.map { String(decoding: $0.bytes, as: UTF8.self) } == ["one", "four\r"])
        #expect(reader.tooLong == 5)
    }

    @Test func theSystemsPathsComeFirst() {
        func paths(_ variables: [String: String], existing: Set<String> = []) -> DefaultPaths {
            DefaultPaths(variable: { variables[$0] }, exists: { existing.contains($0) })
        }
        let own = ["XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/a"]
        #expect(paths(own).socket == "/run/halyard/halyard.sock")
        #expect(paths(own, existing: ["/run/user/7/halyard/halyard.sock"]).socket == "/run/user/7/halyard/halyard.sock")
        #expect(
            paths(own, existing: ["/run/user/7/halyard/halyard.sock", "/run/halyard/halyard.sock"]).socket
                == "/run/halyard/halyard.sock")
        #expect(paths(["HALYARD_SOCKET": "/tmp/s"]).socket == "/tmp/s")
        #expect(paths(own).database == "/var/lib/halyard/halyard.db")
        #expect(
            paths(own, existing: ["/home/a/.local/state/halyard/halyard.db"]).database
                == "/home/a/.local/state/halyard/halyard.db")
        #expect(paths(["HALYARD_DATABASE": "/tmp/d", "HOME": "/home/a"]).database == "/tmp/d")
    }
}
