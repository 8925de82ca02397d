import ControlProtocol
import Jobs
import Testing

@testable import Commands

@Suite struct PageTests {
    private let now = Samples.now

    @Test func jobsAreATable() throws {
        try Golden.expect(Capture.text { try $0.table(JobTable.table(Samples.jobs, now: now)) }, "jobs.txt")
    }

    @Test func jobsFitANarrowTerminal() throws {
        let text = try Capture.text(terminal: (80, 24), colours: true) {
            try $0.table(JobTable.table(Samples.jobs, now: now))
        }
        try Golden.expect(text, "jobs-narrow-colour.txt")
    }

    @Test func aJobIsAPage() throws {
        try Golden.expect(
            Capture.text { try JobPage(detail: Samples.detail, now: now).write(to: $0) }, "job.txt")
    }

    @Test func everyReasonToWaitIsASentence() throws {
        let reasons: [WaitExplanation.Reason] = [
            .dependency(Samples.detail.dependencies[1]), .time(dueAt: now + .seconds(3600)),
            .retry(dueAt: now + .seconds(30), afterCode: "http_status"), .queuePaused(queue: "slow"),
            .queueLimit(queue: "slow", running: 1, limit: 1),
            .queueLimitPerDaemon(queue: "slow", limit: 2, daemons: ["web1"]),
            .queueLimitPerDaemon(queue: "slow", limit: 2, daemons: ["web1", "web2"]), .slots(running: 256, limit: 256),
            .turn(queue: "default", ready: 1200),
            .trial(of: [JobID(4)], endsAt: now + .seconds(30)),
            .trial(of: [JobID(4), JobID(5)], endsAt: now + .seconds(30)),
            .trial(of: [JobID(41)], endsAt: now + .seconds(30)),
            .worker(
                problem: "worker photos exited with status 1; its jobs wait, and it starts again in 4s"),
            .workerLimit(worker: "photos", running: 16, limit: 16), .suspect(worker: "photos"), .noDaemon,
            .home(daemon: "web1", endedAt: nil, drainedAt: nil),
            .home(daemon: "web1", endedAt: Samples.ago(60), drainedAt: nil),
            .home(daemon: "web1", endedAt: nil, drainedAt: Samples.ago(60)), .drained(daemons: ["web1", "web2"]),
            .unserved(queue: "slow", kind: nil, daemon: nil), .unserved(queue: nil, kind: "resize", daemon: nil),
            .unserved(queue: "slow", kind: "resize", daemon: nil),
            .unserved(queue: nil, kind: "resize", daemon: "web1"),
            .running(attempt: 2, startedAt: Samples.ago(5)), .final(.cancelled, nil),
        ]
        let explanation = WaitExplanation(job: JobID(41), state: .blocked, reasons: reasons)
        try Golden.expect(
            Capture.text { output in
                let start = "Start the daemon with: systemctl start halyard"
                for line in WaitText.lines(explanation, start: start, now: now) {
                    try output.line(line)
                }
            },
            "why.txt")
    }

    @Test func queuesAreATable() throws {
        try Golden.expect(Capture.text { try $0.table(QueueTable.table(Samples.queues, now: now)) }, "queues.txt")
        var queues = Samples.queues
        queues[1].settings.limitPerDaemon = 4
        try Golden.expect(
            Capture.text { try $0.table(QueueTable.table(queues, now: now)) }, "queues-per-daemon.txt")
    }

    @Test func workersAreTables() throws {
        let workers = Samples.workers
        try Golden.expect(
            Capture.text { output in
                try output.table(WorkerTable.table(workers))
                try output.table(try #require(WorkerTable.processes(workers, now: now)))
            }, "workers.txt")
        #expect(WorkerTable.processes([workers[2]], now: now) == nil)
    }

    @Test func theStateOfAWorkerAgreesWithItsProblem() {
        func record(_ kinds: [String] = [], _ problem: String? = nil, rests: Bool = false) -> WorkerRecord {
            WorkerRecord(
                name: "w", kinds: kinds, processLimit: 1, attemptLimit: 1, restsUntil: rests ? now : nil,
                problem: problem)
        }
        #expect(record().state == .idle)
        #expect(
            record(["k"], "worker w exited; its jobs wait, and it starts again in 4s", rests: true).state == .resting)
        #expect(record([], "worker w exited; its jobs wait, and it is starting again").state == .starting)
        #expect(record(["k"], "worker w announces the kind k, which another runs; its jobs wait").state == .barred)
        var new = record()
        new.checkedUntil = now + .seconds(20)
        #expect(new.state == .checking)
    }

    @Test func theStatusIsAPage() throws {
        try Golden.expect(Capture.text { try StatusPage.write(Samples.status, now: now, to: $0) }, "status.txt")
    }

    @Test func definitionsAreATableAndPages() throws {
        let set = Samples.definitions
        let text = try Capture.text { output in
            try output.table(DefinitionText.table(set))
            for stored in set.definitions {
                let kind = set.kinds.first { $0.name == stored.definition.kind }
                try DefinitionText.write(stored, kind: kind, now: now, to: output)
            }
            for stored in set.graphs { try DefinitionText.write(stored, now: now, to: output) }
        }
        try Golden.expect(text, "definitions.txt")
    }

    @Test func aDifferenceHasALineForEachChange() throws {
        let lines = [
            DefinitionLine(change: .added, type: "definition", name: "resize"),
            DefinitionLine(change: .changed, type: "definition", name: "upload", fields: ["timeout: 30s → 1m"]),
            DefinitionLine(change: .unchanged, type: "queue", name: "default"),
            DefinitionLine(change: .removed, type: "graph", name: "save-link"),
        ]
        let text = try Capture.text { output in
            for line in lines { for text in DefinitionText.difference(line) { try output.line(text) } }
        }
        try Golden.expect(text, "difference.txt")
    }
}
