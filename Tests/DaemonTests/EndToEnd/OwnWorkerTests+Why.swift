import Jobs
import Programs
import Testing

/// Why jobs of a worker wait.
extension OwnWorkerTests {
    @Test(.timeLimit(.minutes(1)))
    func aFullWorkerIsTheReasonWhyItsJobsWait() async throws {
        let bed = try TestBed()
        try configure(bed, sample("", ", attempts: 1"))
        try await bed.withDaemon { daemon in
            try await define("act", in: bed)
            for _ in 1...2 { try await enqueue("act", #"{"action": "wait", "text": "I wait"}"#, in: bed) }
            await daemon.errors.first(containing: "worker sample stderr: I wait")
            let why = try await bed.halyard("why", "2").output
            #expect(why.contains("worker sample runs 1 attempt of at most 1"), "\(why)")
        }
    }

    /// Two processes run suspects. A third suspect waits while the other two have not run for long.
    @Test(.timeLimit(.minutes(1)))
    func aSuspectSaysThatItWaitsForAProcessToItself() async throws {
        let bed = try TestBed()
        try configure(bed, sample())
        try await bed.withDaemon { daemon in
            try await define("act", in: bed)
            var index = 0
            for _ in 1...3 {
                try await enqueue("act", #"{"action": "wait", "text": "I wait"}"#, in: bed)
                index = try #require(await daemon.errors.first(from: index, containing: "I wait")).index + 1
            }
            try await enqueue("act", #"{"action": "crash"}"#, in: bed)
            let crash = try #require(await daemon.errors.first(containing: "a test asked for this"))
            let first = try #require(await daemon.errors.first(from: crash.index, containing: "I wait"))
            _ = try #require(await daemon.errors.first(from: first.index + 1, containing: "I wait"))
            let job = try await bed.ask("SELECT job FROM jobs WHERE state = 'ready' ORDER BY job LIMIT 1")
            let why = try await bed.halyard("why", job).output
            #expect(why.contains("was running when a process of worker sample crashed"), "\(why)")
            #expect(try await bed.halyard("workers").output.contains("probe: runs jobs of a crash"))
        }
    }
}
