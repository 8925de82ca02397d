import Jobs
import Testing

@Suite struct CrashCountTests {
    private static func attempt(_ outcome: AttemptOutcome, _ detail: String? = nil) -> AttemptRecord {
        let failure = detail.map {
            JobFailure(code: "crashed", message: "", detail: JSONText(trusted: Array($0.utf8)))
        }
        return AttemptRecord(
            lease: Lease(job: JobID(1), attempt: 1), outcome: outcome, startedAt: Timestamp(milliseconds: 0),
            endedAt: Timestamp(milliseconds: 0), error: failure, retryAt: nil)
    }

    @Test func onlyCrashesAloneCountAgainstTheJob() {
        let alone = Self.attempt(.crashed, #"{"beside":0,"cause":"SIGSEGV"}"#)
        let beside = Self.attempt(.crashed, #"{"beside":3,"cause":"SIGSEGV"}"#)
        let unexplained = Self.attempt(.crashed, #"{"beside":0}"#)
        #expect(CrashCount(of: [beside, alone, alone]) == CrashCount(inARow: 3, alone: 2))
        #expect(CrashCount(of: [alone, Self.attempt(.failed), beside]) == CrashCount(inARow: 1, alone: 1))
        #expect(CrashCount(of: [beside, Self.attempt(.interrupted), beside]) == CrashCount(inARow: 2))
        let kills = [AttemptRecord](repeating: unexplained, count: LastEnd.unexplainedPerCrash)
        #expect(CrashCount(of: kills.dropLast()).counted == 0)
        #expect(CrashCount(of: [alone] + kills).counted == 2)
        #expect(CrashCount(of: [Self.attempt(.crashed)]).counted == 0)
    }

    @Test func theFailureNamesTheSettingAndTheRemedy() throws {
        var count = CrashCount(alone: 2)
        #expect(count.add(of: JobID(7), isExplained: true, isAlone: false, maxCrashes: 2) == nil)
        let failure = count.add(of: JobID(7), isExplained: true, isAlone: true, maxCrashes: 2)
        #expect(try #require(failure).message.contains("ended 3 times"))
        #expect(try #require(failure).message.contains("max_rescues"))
        #expect(try #require(failure).message.contains("\"halyard retry 7\""))
    }
}
