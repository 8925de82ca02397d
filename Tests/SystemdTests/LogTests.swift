import Glibc
import Logging
import Synchronization
import Testing

@testable import Systemd

@Suite struct LogTests {
    final class Lines: Sendable {
        private let lines = Mutex([String]())
        var all: [String] { lines.withLock { $0 } }
        func append(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test func metadataBecomesFieldsOfTheJournal() {
        let entry = JournalEntry(
            level: .warning, message: "finished",
            metadata: ["HALYARD_JOB": "42", "duration_usec": "17", "HALYARD_EVENT": "job-finished"],
            label: "runner", identifier: "halyardd", messageIDs: ["job-finished": "0123456789abcdef0123456789abcdef"])
        let fields = entry.fields.map { "\($0.name)=\($0.value)" }
        #expect(
            fields == [
                "MESSAGE=finished", "PRIORITY=4", "SYSLOG_IDENTIFIER=halyardd", "LOGGER=runner",
                "MESSAGE_ID=0123456789abcdef0123456789abcdef", "HALYARD_DURATION_USEC=17",
                "HALYARD_EVENT=job-finished", "HALYARD_JOB=42",
            ])
    }

    @Test(arguments: [
        ("job", "HALYARD_JOB"), ("HALYARD_JOB", "HALYARD_JOB"), ("durationMs", "HALYARD_DURATIONMS"),
        ("a-b.c=d\n", "HALYARD_A_B_C_D_"),
        (String(repeating: "x", count: 90), "HALYARD_" + String(repeating: "X", count: 56)),
    ])
    func aFieldNameIsOneTheJournalTakes(key: String, name: String) {
        #expect(JournalEntry.fieldName(key) == name)
    }

    @Test(arguments: [
        (Logger.Level.critical, 2), (.error, 3), (.warning, 4), (.notice, 5), (.info, 6), (.debug, 7), (.trace, 7),
    ])
    func levelsAreThoseOfSyslog(level: Logger.Level, priority: Int) {
        #expect(level.priority == priority)
    }

    @Test func aPrefixedLineCarriesLevelAndMetadata() {
        let lines = Lines()
        var logger = Logger(label: "x") { _ in
            ServiceLogHandler(threshold: LogThreshold(.info), style: .levelPrefix, write: lines.append)
        }
        logger[metadataKey: "kind"] = "upload"
        logger.error("failed", metadata: ["HALYARD_JOB": "4", "why": "no route", "HALYARD_EVENT": "attempt-failed"])
        logger.debug("not shown")
        #expect(lines.all == ["<3>failed job=4 kind=upload why=\"no route\"\n"])
    }

    @Test func aLineOfAnotherProgramCarriesNoMetadata() {
        let lines = Lines()
        let logger = Logger(label: "x") { _ in
            ServiceLogHandler(threshold: LogThreshold(.info), style: .levelPrefix, write: lines.append)
        }
        logger.info("job 4 attempt 1 output: hello", metadata: ["HALYARD_JOB": "4", "HALYARD_STREAM": "output"])
        #expect(lines.all == ["<6>job 4 attempt 1 output: hello\n"])
    }

    @Test func hostileTextStaysOnItsLine() {
        let lines = Lines()
        let logger = Logger(label: "x") { _ in
            ServiceLogHandler(threshold: LogThreshold(.info), style: .levelPrefix, write: lines.append)
        }
        logger.info("a\n<0>b\u{1b}]0;x\u{7}", metadata: ["url": "\u{202e}\r\u{9b}"])
        #expect(lines.all == ["<6>a\\n<0>b\\x1b]0;x\\x07 url=\\u{202e}\\x0d\\x9b\n"])
    }

    @Test func aLineForPeopleBeginsWithTheTimeInUTC() throws {
        let lines = Lines()
        let logger = Logger(label: "x") { _ in
            ServiceLogHandler(threshold: LogThreshold(.info), style: .dated, write: lines.append)
        }
        logger.notice("hello")
        let line = try #require(lines.all.first)
        #expect(try /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z notice  hello\n/.wholeMatch(in: line) != nil)
    }

    @Test func theThresholdChangesWhileLoggersLive() {
        let lines = Lines()
        let threshold = LogThreshold(.info)
        let logger = Logger(label: "x") { _ in
            ServiceLogHandler(threshold: threshold, style: .levelPrefix, write: lines.append)
        }
        logger.debug("one")
        threshold.level = .debug
        logger.debug("two")
        #expect(lines.all == ["<7>two\n"])
    }

    @Test func theDestinationIsFoundFromStandardError() throws {
        var pair: [Int32] = [0, 0]
        #expect(pipe(&pair) == 0)
        defer { for end in pair { close(end) } }
        var status = stat()
        #expect(fstat(pair[1], &status) == 0)
        var environment = ServiceEnvironment()
        #expect(LogDestination(environment, descriptor: pair[1]) == .dated)
        environment.invocationID = "abc"
        #expect(LogDestination(environment, descriptor: pair[1]) == .levelPrefix)
        environment.journalStream = "1:1"
        #expect(LogDestination(environment, descriptor: pair[1]) == .levelPrefix)
        environment.journalStream = "\(status.st_dev):\(status.st_ino)"
        #expect(LogDestination(environment, descriptor: pair[1]) == .journal)
    }
}
