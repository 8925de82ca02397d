import Testing

@testable import Jobs

@Suite struct FingerprintTests {
    @Test func sameRequestHasTheSameFingerprintForEver() {
        let submission = Submission(
            .definition("fetch"), input: Fixtures.json(#"{"url":"x","limit":5}"#), start: .after(.seconds(5)), key: "a")
        var same = submission
        same.input = Fixtures.json(#"{ "limit": 5, "url": "\u0078" }"#)
        same.key = "another key"
        #expect(submission.fingerprint == same.fingerprint)
        // Stored with keys: it must not change from release to release.
        #expect(Submission(.definition("fetch")).fingerprint == 7_497_999_803_547_260_668)
        #expect(
            Submission(.jobs([JobRequest(definition: "fetch")], name: nil)).fingerprint == -1_744_199_070_076_745_796)
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

    @Test func hashIsThatOfTheStandard() {
        let words: [UInt32] = [
            0x248d_6a61, 0xd206_38b8, 0xe5c0_2693, 0x0c3e_6039, 0xa33c_e459, 0x64ff_2167, 0xf6ec_edd4, 0x19db_06c1,
        ]
        let text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        #expect(SHA256.hash(Array(text.utf8)) == words)
        #expect(SHA256.hash([]).first == 0xe3b0_c442)
        #expect(SHA256.hash(Array("abc".utf8)).first == 0xba78_16bf)
        // The padding needs a block of its own from 56 bytes on.
        #expect(SHA256.hash([UInt8](repeating: 0x61, count: 1000)).first == 0x41ed_ece4)
    }
}
