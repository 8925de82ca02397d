import Jobs
import Testing

@Suite struct FingerprintTests {
    @Test func sameRequestHasTheSameFingerprintForEver() {
        let submission = Submission(
            .definition("fetch"), input: Fixtures.json(#"{"url":"x","limit":5}"#), start: .after(.seconds(5)), key: "a")
        var same = submission
        same.input = Fixtures.json(#"{ "limit": 5, "url": "\u0078" }"#)
        same.key = "another key"
        #expect(submission.fingerprint == same.fingerprint)
        // Stored with keys: it must not change from release to release.
        #expect(Submission(.definition("fetch")).fingerprint == 3_742_767_430_659_896_568)
        #expect(
            Submission(.jobs([JobRequest(definition: "fetch")], name: nil)).fingerprint == -1_559_814_613_607_860_360)
    }

    @Test func anyOtherRequestHasAnother() {
        let job = JobRequest(node: "a", definition: "fetch")
        func jobs(_ change: (inout JobRequest) -> Void) -> Submission {
            var other = job
            change(&other)
            return Submission(.jobs([other], name: nil))
        }
        let one = Submission(.definition("fetch"))
        let requests = [
            one, Submission(.definition("find")), Submission(.definition("fetch"), input: .emptyObject),
            Submission(.definition("fetch"), input: Fixtures.json(#"{"url":"x"}"#)),
            Submission(.definition("fetch"), input: Fixtures.json(#"{"url":"y"}"#)),
            Submission(.definition("fetch"), queue: "slow"), Submission(.definition("fetch"), priority: .high),
            Submission(.definition("fetch"), after: [.init(job: JobID(1))]),
            Submission(.definition("fetch"), after: [.init(job: JobID(1), condition: .finished)]),
            Submission(.definition("fetch"), start: .after(.seconds(1))),
            Submission(.definition("fetch"), start: .at(Timestamp(milliseconds: 1000))),
            Submission(.jobs([job], name: nil)), Submission(.jobs([job], name: "g")),
            Submission(.jobs([job, job], name: nil)),
            jobs { $0.node = "b" }, jobs { $0.node = nil }, jobs { $0.definition = "find" }, jobs { $0.queue = "a" },
            jobs { $0.priority = .low }, jobs { $0.startAt = Timestamp(milliseconds: 1) },
            jobs { $0.input = .emptyObject },
            jobs { $0.after = [.init(.node("x"))] }, jobs { $0.after = [.init(.node("x"), condition: .finished)] },
            jobs { $0.after = [.init(.job(JobID(1)))] }, jobs { $0.after = [.init(.job(JobID(2)))] },
        ]
        #expect(Set(requests.map(\.fingerprint)).count == requests.count)
    }
}
