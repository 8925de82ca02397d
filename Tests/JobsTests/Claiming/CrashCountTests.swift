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
        let end = JobFailure(code: "crashed", message: "The worker broke the protocol: line 3: invalid JSON.")
        #expect(count.add(of: JobID(7), isExplained: true, isAlone: false, maxCrashes: 2, end: end) == nil)
        let failure = count.add(of: JobID(7), isExplained: true, isAlone: true, maxCrashes: 2, end: end)
        #expect(try #require(failure).message.hasSuffix(" The last time: \(end.message)"))
        #expect(try #require(failure).message.contains("ended 3 times"))
        #expect(try #require(failure).message.contains("max_rescues"))
        #expect(try #require(failure).message.contains("\"halyard retry 7\""))
    }

    @Test func theLastCrashIsCutInTheFailure() throws {
        var count = CrashCount()
        let end = JobFailure(code: "crashed", message: String(repeating: "x", count: 5000))
        let failure = count.add(of: JobID(7), isExplained: true, isAlone: true, maxCrashes: 0, end: end)
        #expect(try #require(failure).message.hasSuffix(" The last time: \(String(repeating: "x", count: 500))…"))
    }
}
