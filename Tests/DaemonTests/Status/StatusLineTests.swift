import Jobs
import Testing

@testable import Daemon
@testable import Runner

@Suite struct StatusLineTests {
    private func line(
        _ phase: RunnerSnapshot.Phase, running: Int = 0, abandoned: Int = 0, ready: Int64 = 0, scheduled: Int64 = 0,
        blocked: Int64 = 0, next: Timestamp? = nil, problem: StoreError? = nil, problems: [String] = []
    ) -> String {
        var counts = StateCounts()
        counts[.ready] = ready
        counts[.scheduled] = scheduled
        counts[.blocked] = blocked
        counts[.running] = Int64(running)
        let snapshot = RunnerSnapshot(
            phase: phase, running: running, abandoned: abandoned, slots: 8, unrecorded: 0, problem: problem)
        return StatusLine(runner: snapshot, counts: counts, nextDueAt: next, problems: problems)
            .text { _ in "14:05" }
    }

    @Test func eachPhaseHasItsVerb() {
        #expect(line(.starting, running: 2) == "recovering; 2 to rescue")
        #expect(line(.running) == "idle; 0 running, 0 ready, 0 scheduled")
        #expect(
            line(.running, running: 3, ready: 12, scheduled: 1, blocked: 4, next: Timestamp(milliseconds: 1))
                == "running; 3 running, 12 ready, 1 scheduled, 4 blocked, next 14:05")
        #expect(line(.draining(left: .milliseconds(41_001)), running: 3) == "draining 3 jobs, 42 s left")
        #expect(line(.draining(left: .seconds(-1)), running: 1) == "draining 1 job, 0 s left")
        #expect(line(.interrupting, running: 1) == "interrupting 1 job")
        #expect(line(.ended) == "stopped")
    }

    @Test func aDrainedDaemonSaysSo() {
        var snapshot = RunnerSnapshot(phase: .running, running: 1, abandoned: 0, slots: 8, unrecorded: 0)
        snapshot.drainedAt = Timestamp(milliseconds: 1)
        let line = StatusLine(runner: snapshot, counts: nil, nextDueAt: nil, problems: []).text { _ in "" }
        #expect(line == "drained; 1 running")
    }

    @Test func stuckRequestIsNamed() {
        var snapshot = RunnerSnapshot(phase: .running, running: 0, abandoned: 0, slots: 8, unrecorded: 0)
        let subject = "graph 7: some of its jobs cannot be written"
        snapshot.stuck = [StuckRequest(subject: subject, reason: .closed)]
        func line() -> String {
            StatusLine(runner: snapshot, counts: StateCounts(), nextDueAt: nil, problems: []).text { _ in "" }
        }
        #expect(line() == "idle; 0 running, 0 ready, 0 scheduled; \(subject), see the journal")
        snapshot.stuck.append(StuckRequest(subject: "job 8", reason: .closed))
        #expect(line().hasSuffix("; \(subject), and 1 more like it, see the journal"))
    }

    @Test func whatIsWrongFollows() {
        #expect(
            line(.running, abandoned: 1, problems: ["2 definitions refused"])
                == "idle; 0 running, 0 ready, 0 scheduled; 1 job will not stop; 2 definitions refused")
        let full = StoreError.diskFull(path: "/x")
        #expect(line(.running, problem: full) == "cannot write: \(full); 0 running, 0 ready, 0 scheduled")
        #expect(line(.running, running: 1, problem: full).hasPrefix("cannot write: The disk that holds /x is full"))
        #expect(line(.interrupting, running: 1, problem: full) == "interrupting 1 job; \(full)")
    }
}
