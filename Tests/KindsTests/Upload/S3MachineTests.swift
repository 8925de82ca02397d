import Foundation
import NIOHTTP1
import Testing
import WebSyntax

@testable import Kinds
@testable import Web

/// The decisions of a multipart upload to S3, without a server.
@Suite struct S3MachineTests {
    private static let part: Int64 = 5 << 20
    private static let size = 3 * part + 1

    /// The content consists of zeros, so that the digest of a range depends only on its length.
    private struct Session {
        var machine: S3Multipart
        var waiting: [(request: UploadRequest, purpose: S3Multipart.Purpose)] = []
        var saved: [Checkpoint] = []
        var deletes = false
        var forgets = false
        var failure: KindFailure?
        var output: Upload.Output?

        init(size: Int64 = S3MachineTests.size, createsOnly: Bool = false, isRepeat: Bool = false) throws {
            var plan = UploadPlan(
                url: try WebURL(parsing: "http://h/bucket/key"), source: Self.source(size),
                chunkBytes: 2 * S3MachineTests.part,
                partBytes: S3MachineTests.part)
            (plan.createsOnly, plan.isRepeat) = (createsOnly, isRepeat)
            machine = S3Multipart(plan: plan)
        }

        static func source(_ size: Int64) -> OpenFile.Identity {
            OpenFile.Identity(device: 1, inode: 2, size: size, modifiedNs: 3, changedNs: 4)
        }

        static func zeros(_ count: Int64, after digest: RunningDigest = RunningDigest()) -> RunningDigest {
            var digest = digest
            [UInt8](repeating: 0, count: Int(count)).withUnsafeBytes { digest.update(bufferPointer: $0) }
            return digest
        }

        static func part(_ number: Int, bytes: Int64 = S3MachineTests.part, sha256: [UInt8]? = nil) -> Checkpoint.Part {
            Checkpoint.Part(
                number: number, etag: "\"e\(number)\"", bytes: bytes,
                sha256: (sha256 ?? zeros(bytes).value).hexadecimal, isConfirmed: true)
        }

        /// The requests that are in flight, by method and query.
        var wants: [String] { waiting.map { "\($0.request.method) \($0.request.url.query ?? "")" } }

        mutating func begin(from saved: Checkpoint? = nil) throws {
            try perform(try machine.begin(from: saved))
        }

        mutating func answer(_ status: Int, _ headers: HTTPHeaders = [:], _ body: String = "", at index: Int = 0) throws
        {
            let (request, purpose) = waiting.remove(at: index)
            let head = ResponseHead(status: status, headers: headers, url: request.url, address: .v4(0x7f00_0001))
            let reply = UploadReply(head: head, body: Array(body.utf8))
            try perform(
                try machine.next(
                    after: UploadAnswer(result: .success(reply), attemptBeganAt: 1_000_000), to: request, for: purpose))
        }

        mutating func lose() throws {
            let (request, purpose) = waiting.removeFirst()
            let failure = KindFailure(.connectionLost, "lost", isRetryable: true)
            try perform(
                try machine.next(after: UploadAnswer(result: .failure(failure)), to: request, for: purpose))
        }

        private mutating func perform(_ steps: [S3Multipart.Step]) throws {
            for step in steps {
                switch step {
                case .send(let request, let purpose): waiting.append((request, purpose))
                case .read(let read, let purpose):
                    let count = Int64(read.range.count)
                    let digests = SourceDigests(
                        range: Self.zeros(count).value, whole: read.digest.map { Self.zeros(count, after: $0) })
                    try perform(try machine.read(digests, for: purpose))
                case .save(let checkpoint): saved.append(checkpoint)
                case .forget: forgets = true
                case .delete: deletes = true
                case .verify: break
                case .finish(let output): self.output = output
                case .fail(let failure): self.failure = failure
                case .sendPlainly: Issue.record("S3 is never sent plainly")
                }
            }
        }

        /// Creates an upload; its first two parts are then in flight.
        mutating func create() throws {
            try begin()
            #expect(wants == ["POST uploads"])
            try answer(200, [:], "<R><UploadId>u</UploadId></R>")
            #expect(saved.last?.upload == "u" && wants == [1, 2].map(Self.put))
        }

        mutating func createAndStoreAll() throws {
            try create()
            while wants.first?.hasPrefix("PUT") == true { try answer(200, ["etag": "\"e\""]) }
            #expect(wants == ["POST uploadId=u"])
        }

        static func put(_ number: Int) -> String { "PUT partNumber=\(number)&uploadId=u" }

        /// The checkpoint of an earlier attempt.
        func checkpoint(_ parts: [Checkpoint.Part], digest: RunningDigest? = nil) -> Checkpoint {
            var checkpoint = Checkpoint(
                style: "s3", target: "http://h/bucket/key", upload: "u", source: Self.source(machine.plan.size),
                offset: parts.reduce(0) { $0 + $1.bytes }, digest: digest, partBytes: S3MachineTests.part)
            checkpoint.parts = parts
            return checkpoint
        }
    }

    private func list(_ parts: [Checkpoint.Part], isTruncated: Bool = false) -> String {
        let entries = parts.map {
            "<Part><PartNumber>\($0.number)</PartNumber><ETag>\($0.etag)</ETag><Size>\($0.bytes)</Size></Part>"
        }
        return "<R><IsTruncated>\(isTruncated)</IsTruncated>\(entries.joined())</R>"
    }

    // MARK: Parts

    @Test func atMostOneChunkOfPartsIsInFlight() throws {
        var session = try Session()
        try session.create()
        try session.answer(200, ["etag": "\"e2\""], at: 1)
        #expect(session.wants == [1, 3].map(Session.put))
        // The digest waits for the first part.
        #expect(session.saved.last?.parts.map(\.number) == [2] && session.saved.last?.digest == nil)
        try session.answer(200, ["etag": "\"e1\""])
        #expect(session.saved.last?.digest?.count == 2 * Self.part)
        #expect(session.wants == [3, 4].map(Session.put))
        try session.answer(200, ["etag": "\"e4\""], at: 1)
        #expect(session.wants == [Session.put(3)])
        try session.answer(200, ["etag": "\"e3\""])
        #expect(session.saved.last?.parts.map(\.bytes) == [Self.part, Self.part, Self.part, 1])
        #expect(session.saved.last?.offset == Self.size && session.saved.last?.digest?.count == Self.size)
        #expect(session.wants == ["POST uploadId=u"])
        try session.answer(200, ["etag": "\"whole\""])
        #expect(
            session.output?.etag == "\"whole\"" && session.output?.sha256 == Session.zeros(Self.size).value.hexadecimal)
    }

    @Test func partWithoutAnETagFails() throws {
        var session = try Session()
        try session.create()
        let failure = #expect(throws: KindFailure.self) { try session.answer(200) }
        #expect(failure?.code == "protocol_error")
    }

    @Test func partThatTheServerStoredDifferentlyEndsTheAttempt() throws {
        var session = try Session()
        try session.create()
        try session.answer(200, ["etag": "\"e\"", "x-amz-checksum-sha256": "AAAA"])
        #expect(session.failure?.code == "checksum_mismatch" && session.saved.last?.parts == [])
    }

    @Test(arguments: [500, 503, nil] as [Int?]) func lostPartIsRepeatedThreeTimes(status: Int?) throws {
        var session = try Session()
        try session.create()
        session.waiting.removeLast()
        for wait in [250, 500, 1000] {
            if let status { try session.answer(status) } else { try session.lose() }
            #expect(session.wants == [Session.put(1)])
            #expect(session.waiting.first?.request.wait == .milliseconds(wait))
        }
        #expect(throws: KindFailure.self) {
            if let status { try session.answer(status) } else { try session.lose() }
        }
    }

    /// A part that the server stores after another part has failed is recorded.
    @Test func partIsRecordedAfterAFailure() throws {
        var session = try Session()
        try session.create()
        #expect(throws: KindFailure.self) { try session.answer(403) }
        try session.answer(200, ["etag": "\"e2\""])
        #expect(session.saved.last?.parts.map(\.number) == [2])
    }

    // MARK: Resume

    @Test func onlyPartsThatTheServerHasCount() throws {
        let parts = [Session.part(1), Session.part(2), Session.part(3)]
        // The server's second part has another ETag, and its third part another size.
        var other = parts
        other[1].etag = "other"
        other[2].bytes -= 1
        for (listed, missing) in [(parts, [4]), ([], [1, 2]), (other, [2, 3]), (Array(parts[..<2]), [3, 4])] {
            var session = try Session()
            try session.begin(from: session.checkpoint(parts))
            #expect(session.wants == ["GET part-number-marker=0&uploadId=u"])
            try session.answer(200, [:], list(listed))
            #expect(session.wants == missing.map(Session.put))
        }
    }

    @Test func listOfPartsIsReadInPages() throws {
        var session = try Session()
        try session.begin(from: session.checkpoint([Session.part(1), Session.part(2)]))
        try session.answer(200, [:], list([Session.part(1)], isTruncated: true))
        #expect(session.wants == ["GET part-number-marker=1&uploadId=u"])
        // Repeating the same page ends the listing.
        try session.answer(200, [:], list([Session.part(1)], isTruncated: true))
        #expect(session.wants == [2, 3].map(Session.put))
    }

    @Test func partOfAnotherFileEndsTheUpload() throws {
        let parts = [Session.part(1, sha256: [1])]
        var session = try Session()
        try session.begin(from: session.checkpoint(parts))
        let failure = #expect(throws: KindFailure.self) { try session.answer(200, [:], list(parts)) }
        #expect(failure?.code == "source_changed")
    }

    /// The checkpoint's digest is used only if it ends where a part of the server's list ends.
    @Test(arguments: [(1, true), (2, false)]) func digestIsContinued(count: Int64, isKept: Bool) throws {
        let parts = [Session.part(1)]
        var session = try Session()
        let digest = Session.zeros(count * Self.part)
        try session.begin(from: session.checkpoint(parts, digest: digest))
        try session.answer(200, [:], list(parts))
        #expect(session.machine.parts?.checkpoint.digest?.count == Self.part)
        #expect(session.saved.first?.digest == digest)
        #expect(session.wants == [2, 3].map(Session.put))
    }

    @Test func uploadThatTheServerForgotBeginsAgain() throws {
        var session = try Session()
        try session.begin(from: session.checkpoint([Session.part(1)]))
        try session.answer(404)
        #expect(session.forgets && session.wants == ["POST uploads"])
    }

    /// All parts were stored: an object with the matching ETag is the result.
    @Test(arguments: [true, false]) func lostCompletionIsFoundByTheNextAttempt(isThere: Bool) throws {
        let parts = [Session.part(1), Session.part(2), Session.part(3), Session.part(4, bytes: 1)]
        var session = try Session(isRepeat: true)
        try session.begin(from: session.checkpoint(parts))
        try session.answer(404)
        #expect(session.wants == ["HEAD "])
        // A busy server's error does not say whether the object exists.
        try session.answer(503)
        #expect(session.wants == ["HEAD "])
        try session.answer(200, ["etag": isThere ? S3Answer.etag(of: parts) : "\"other\""])
        #expect((session.output != nil) == isThere)
        #expect(session.wants == (isThere ? [] : ["POST uploads"]))
    }

    // MARK: Completion

    @Test func errorInASuccessfulResponseIsAFailure() throws {
        var session = try Session()
        try session.createAndStoreAll()
        try session.answer(200, [:], "<Error><Code>InternalError</Code></Error>")
        #expect(session.output == nil && session.wants == ["POST uploadId=u"])
        let failure = #expect(throws: KindFailure.self) {
            try session.answer(200, [:], "<Error><Code>InvalidPart</Code></Error>")
        }
        #expect(failure?.isRetryable == false)
    }

    @Test(arguments: [404, 412], [true, false])
    func lostCompletionIsSettledByTheETag(status: Int, isThere: Bool) throws {
        var session = try Session()
        try session.createAndStoreAll()
        try session.lose()
        try session.answer(status)
        #expect(session.wants == ["HEAD "])
        try session.answer(503)
        #expect(session.wants == ["HEAD "] && session.failure == nil)
        let parts = try #require(session.saved.last).parts
        let etag = isThere ? S3Answer.etag(of: parts) : "\"other\""
        try session.answer(200, ["etag": etag])
        #expect((session.output != nil) == isThere && (session.failure?.status == status) == !isThere)
        #expect(session.deletes == (isThere && status == 412))
    }

    @Test(arguments: [(404, "http_status"), (412, "already_exists")])
    func refusedCompletionIsFinal(status: Int, code: String) throws {
        var session = try Session(createsOnly: true)
        try session.begin()
        try session.answer(404)
        try session.answer(200, [:], "<R><UploadId>u</UploadId></R>")
        while session.wants.first?.hasPrefix("PUT") == true { try session.answer(200, ["etag": "\"e\""]) }
        #expect(session.waiting.first?.request.headers["if-none-match"].first == "*")
        let failure = #expect(throws: KindFailure.self) { try session.answer(status) }
        #expect(failure?.code == code && session.output == nil)
    }

    @Test func objectWithAnotherChecksumStartsOver() throws {
        var session = try Session()
        try session.createAndStoreAll()
        try session.answer(200, ["x-amz-checksum-sha256": "AAAA-4"])
        #expect(session.failure?.code == "checksum_mismatch" && session.failure?.isRetryable == true)
        #expect(session.forgets)
    }

    // MARK: Creation

    @Test func objectThatExistsIsKept() throws {
        var session = try Session(createsOnly: true)
        try session.begin()
        let failure = #expect(throws: KindFailure.self) { try session.answer(200) }
        #expect(failure?.code == "already_exists")
    }

    @Test func storeWithoutChecksumsIsAskedWithoutThem() throws {
        var session = try Session()
        try session.begin()
        #expect(session.waiting.first?.request.headers.contains(name: "x-amz-checksum-algorithm") == true)
        try session.answer(501, [:], "<Error><Code>NotImplemented</Code></Error>")
        #expect(session.waiting.first?.request.headers.contains(name: "x-amz-checksum-algorithm") == false)
        try session.answer(200, [:], "<R><UploadId>u</UploadId></R>")
        #expect(session.waiting.first?.request.headers.contains(name: "x-amz-checksum-sha256") == false)
    }

    private func uploads(_ ids: [String], at time: String = "1970-01-12T13:46:39.000Z") -> String {
        let entries = ids.map {
            "<Upload><Key>key</Key><UploadId>\($0)</UploadId><Initiated>\(time)</Initiated></Upload>"
        }
        return "<ListMultipartUploadsResult>\(entries.joined())</ListMultipartUploadsResult>"
    }

    /// The response to the creation is lost, so the list of uploads decides.
    @Test func lostCreationIsSearched() throws {
        // The only upload without parts is the one created here.
        var session = try Session()
        try session.begin()
        try session.lose()
        #expect(session.wants == ["GET prefix=key&uploads"])
        try session.answer(200, [:], uploads(["other", "u"]))
        #expect(session.wants == ["GET max-parts=1&uploadId=other"])
        try session.answer(200, [:], list([Session.part(1)]))
        #expect(session.wants == ["GET max-parts=1&uploadId=u"])
        try session.answer(200, [:], list([]))
        #expect(session.wants == [1, 2].map(Session.put))

        // The list is empty or contains only an older upload.
        for body in [uploads([]), uploads(["old"], at: "1970-01-12T13:46:30.000Z")] {
            var session = try Session()
            try session.begin()
            try session.lose()
            try session.answer(200, [:], body)
            #expect(session.wants == ["POST uploads"])
        }

        // The list contains two candidates, or the store refuses to list.
        session = try Session()
        try session.begin()
        try session.lose()
        try session.answer(200, [:], uploads(["a", "b"]))
        for _ in 0..<2 { try session.answer(200, [:], list([])) }
        #expect(session.failure?.code == "connection_lost" && session.wants == [])
        session = try Session()
        try session.begin()
        try session.lose()
        for _ in 0..<2 { try session.answer(405) }
        #expect(session.failure?.code == "connection_lost" && session.wants == [])
    }

    /// The retries of the creation and of the search share one limit.
    @Test func searchEndsAfterThreeRetries() throws {
        var session = try Session()
        try session.begin()
        for _ in 0..<3 { try session.lose() }
        #expect(throws: KindFailure.self) { try session.lose() }
    }
}
