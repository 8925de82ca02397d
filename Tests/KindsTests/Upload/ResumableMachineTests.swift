import Foundation
import NIOHTTP1
import Testing
import WebSyntax

@testable import Kinds
@testable import Web

/// The decisions of both resumable upload protocols, without a server.
@Suite struct ResumableMachineTests {
    static let target = "http://h/files"
    static let place = "http://h/files/1"

    /// A state machine for a file of 2.5 MiB in pieces of 1 MiB, and its pending steps.
    private struct Session {
        var machine: ResumableUpload
        var steps: [ResumableUpload.Step] = []
        /// - Parameter isTouched: Whether the file's change time differs from the checkpoint's.
        init(
            _ dialect: ResumableDialect, size: Int64 = 5 << 19, createsOnly: Bool = false, isTouched: Bool = false
        ) throws {
            var plan = UploadPlan(
                url: try WebURL(parsing: target), source: Self.source(size, changedNs: isTouched ? 9 : 3),
                chunkBytes: 1 << 20, partBytes: 8 << 20)
            plan.createsOnly = createsOnly
            machine = ResumableUpload(plan: plan, dialect: dialect)
        }

        static func source(_ size: Int64, changedNs: Int64 = 3) -> OpenFile.Identity {
            OpenFile.Identity(device: 1, inode: 2, size: size, modifiedNs: 3, changedNs: changedNs)
        }

        /// The request that the machine wants to send, if any.
        var request: (request: UploadRequest, purpose: ResumableUpload.Purpose)? {
            for case .send(let request, let purpose) in steps { return (request, purpose) }
            return nil
        }
        var saved: Int64? {
            for case .save(let checkpoint) in steps { return checkpoint.offset }
            return nil
        }
        var forgets: Bool { steps.contains { if case .forget = $0 { true } else { false } } }
        var deletes: Bool { steps.contains { if case .delete = $0 { true } else { false } } }
        var failure: KindFailure? {
            for case .fail(let failure) in steps { return failure }
            return nil
        }
        /// The failure that makes the next attempt start over.
        var restart: KindFailure? { forgets ? failure : nil }
        var output: Upload.Output? {
            for case .finish(let output) in steps { return output }
            return nil
        }
        /// The method of the wanted request and, for a piece, its offset.
        var wants: String? {
            request.map { next in
                "\(next.request.method)" + (next.request.headers["upload-offset"].first.map { " \($0)" } ?? "")
            }
        }

        mutating func begin(from saved: Checkpoint? = nil) throws {
            steps = machine.begin(from: saved)
            try performReads()
        }

        mutating func answer(_ status: Int, _ headers: HTTPHeaders = [:], interim: HTTPHeaders? = nil) throws {
            let (request, purpose) = try #require(request)
            let head = ResponseHead(status: status, headers: headers, url: request.url, address: .v4(0x7f00_0001))
            try answer(UploadAnswer(result: .success(UploadReply(head: head)), interim: interim), request, purpose)
        }

        mutating func lose(_ reason: KindFailure.Reason = .connectionLost, interim: HTTPHeaders? = nil) throws {
            let (request, purpose) = try #require(request)
            let failure = KindFailure(reason, "lost", isRetryable: true)
            try answer(UploadAnswer(result: .failure(failure), interim: interim), request, purpose)
        }

        private mutating func answer(
            _ answer: UploadAnswer, _ request: UploadRequest, _ purpose: ResumableUpload.Purpose
        ) throws {
            var answer = answer
            // All content was read before the response arrived.
            if case .piece(let piece) = request.content, case .success = answer.result {
                answer.digest = zeros(piece.range.upperBound)
            }
            steps = try machine.next(after: answer, to: request, for: purpose)
            try performReads()
        }

        private mutating func performReads() throws {
            while case .read(let read, let purpose)? = steps.last {
                let digests = SourceDigests(
                    range: zeros(Int64(read.range.count)).value,
                    whole: read.digest.map { _ in zeros(read.range.upperBound) })
                steps = steps.dropLast() + (try machine.read(digests, for: purpose))
            }
        }

        private func zeros(_ count: Int64) -> RunningDigest {
            var digest = RunningDigest()
            [UInt8](repeating: 0, count: Int(count)).withUnsafeBytes { digest.update(bufferPointer: $0) }
            return digest
        }

        /// Creates the upload, so that the first piece is wanted.
        mutating func create() throws {
            try begin()
            if machine.dialect == .tus { try answer(204, ["tus-resumable": "1.0.0", "tus-extension": "creation"]) }
            #expect(wants == "POST" && forgets)
            try answer(201, ["location": place, "upload-offset": "0"])
            #expect(wants == "PATCH 0" && saved == 0)
        }

        /// The checkpoint of an earlier attempt.
        func checkpoint(_ offset: Int64) -> Checkpoint {
            Checkpoint(
                style: machine.dialect.rawValue, target: target, upload: place,
                source: Self.source(machine.plan.size), offset: offset, digest: zeros(offset))
        }
    }

    private static let dialects = [ResumableDialect.tus, .draft]

    @Test(arguments: dialects) func everyPieceIsSavedBeforeTheNextIsSent(dialect: ResumableDialect) throws {
        var session = try Session(dialect)
        try session.create()
        for end in [1 << 20, 2 << 20] as [Int64] {
            try session.answer(204, ["upload-offset": "\(end)", "upload-complete": "?0"])
            #expect(session.saved == end && session.wants == "PATCH \(end)")
        }
        #expect(session.request?.request.headers["upload-complete"].first == (dialect == .draft ? "?1" : nil))
        try session.answer(204, ["upload-offset": "\(5 << 19)", "upload-complete": "?1"])
        #expect(session.saved == 5 << 19 && session.output?.location == Self.place)
        #expect(session.output?.bytes == 5 << 19)
    }

    /// The response to a piece leaves the result open, so the machine asks the server for its offset.
    @Test(arguments: dialects, [409, 423, 460, 502, 504, 500, 503, nil] as [Int?])
    func serverIsAskedForItsOffset(dialect: ResumableDialect, status: Int?) throws {
        // The server has stored nothing, a part, or all of the piece.
        for offset in [0, 1000, 1 << 20] as [Int64] {
            var session = try Session(dialect)
            try session.create()
            if let status { try session.answer(status) } else { try session.lose() }
            #expect(session.wants == "HEAD" && (session.request?.request.wait ?? .zero) >= .milliseconds(200))
            try session.answer(200, ["upload-offset": "\(offset)", "upload-complete": "?0"])
            #expect(session.wants == "PATCH \(offset)" && session.saved == (offset == 0 ? nil : offset))
        }
    }

    @Test(arguments: dialects, [nil, "0", "900000"] as [String?])
    func connectionThatBreaksAtTheEndIsSettledByTheServer(dialect: ResumableDialect, offset: String?) throws {
        var session = try Session(dialect, size: 1 << 20)
        try session.create()
        try session.lose(.timeout)
        let headers = ["upload-offset": offset ?? "\(1 << 20)", "upload-complete": offset == nil ? "?1" : "?0"]
        try session.answer(200, HTTPHeaders(headers.map { ($0.key, $0.value) }))
        #expect((session.output != nil) == (offset == nil))
        #expect(session.wants == offset.map { "PATCH \($0)" })
    }

    @Test(arguments: dialects, [400, 401, 403, 412, 422] as [Int])
    func refusalIsFinal(dialect: ResumableDialect, status: Int) throws {
        var session = try Session(dialect)
        try session.create()
        let failure = #expect(throws: KindFailure.self) { try session.answer(status) }
        #expect(failure?.status == status && failure?.isRetryable == false)
    }

    @Test(arguments: dialects, [404, 410] as [Int])
    func uploadThatTheServerForgotStartsOver(dialect: ResumableDialect, status: Int) throws {
        var piece = try Session(dialect)
        try piece.create()
        try piece.answer(status)
        #expect(piece.restart?.code == "upload_expired" && piece.restart?.isRetryable == true)

        var offset = try Session(dialect)
        try offset.create()
        try offset.answer(409)
        try offset.answer(status)
        #expect(offset.restart?.code == "upload_expired")

        // A resumed attempt whose upload is gone creates a new one immediately.
        var resumed = try Session(dialect)
        try resumed.begin(from: resumed.checkpoint(1 << 20))
        if dialect == .tus { try resumed.answer(204) }
        #expect(resumed.wants == "HEAD")
        try resumed.answer(status)
        #expect(resumed.wants == "POST" && resumed.forgets)
    }

    @Test func pieceThatIsTooLargeIsDivided() throws {
        var session = try Session(.tus, size: 1 << 24)
        session.machine = ResumableUpload(
            plan: UploadPlan(
                url: try WebURL(parsing: Self.target), source: Session.source(1 << 24), chunkBytes: 1 << 23,
                partBytes: 1 << 23), dialect: .tus)
        try session.create()
        for bytes in [1 << 21, 1 << 20] as [Int] {
            try session.answer(413)
            guard case .piece(let range)? = session.request?.purpose else { throw KindFailure.cancelled }
            #expect(range == 0..<Int64(bytes))
        }
        #expect(throws: KindFailure.self) { try session.answer(413) }
    }

    /// The server accepts nothing, or its offset decreases repeatedly.
    @Test(arguments: dialects) func serverWithoutProgressIsGivenUp(dialect: ResumableDialect) throws {
        var session = try Session(dialect)
        try session.create()
        for _ in 0..<4 {
            try session.answer(409)
            try session.answer(200, ["upload-offset": "0", "upload-complete": "?0"])
            #expect(session.wants == "PATCH 0")
        }
        try session.answer(409)
        #expect(session.failure?.code == "connection_lost" && session.wants == nil && !session.forgets)

        session = try Session(dialect)
        try session.create()
        for _ in 0..<5 {
            #expect(session.wants == "PATCH 0" && session.saved == 0)
            try session.answer(204, ["upload-offset": "\(1 << 20)", "upload-complete": "?0"])
            try session.answer(460)
            try session.answer(200, ["upload-offset": "0", "upload-complete": "?0"])
        }
        #expect(session.failure?.code == "checksum_mismatch" && session.wants == nil && !session.forgets)
    }

    @Test(arguments: dialects, ["99999999", "-1", "x"])
    func impossibleOffsetFails(dialect: ResumableDialect, offset: String) throws {
        var session = try Session(dialect)
        try session.create()
        let failure = #expect(throws: KindFailure.self) {
            try session.answer(204, ["upload-offset": offset, "upload-complete": "?0"])
        }
        #expect(failure?.code == (offset == "99999999" ? "source_changed" : "protocol_error"))
    }

    @Test(arguments: dialects, [0, 1 << 20, (1 << 20) + 7, 5 << 19] as [Int64])
    func attemptResumesAtTheServersOffset(dialect: ResumableDialect, offset: Int64) throws {
        var session = try Session(dialect)
        try session.begin(from: session.checkpoint(1 << 20))
        if dialect == .tus { try session.answer(204) }
        #expect(session.wants == "HEAD" && session.request?.request.url.description == Self.place)
        let isComplete = offset == 5 << 19
        try session.answer(200, ["upload-offset": "\(offset)", "upload-complete": isComplete ? "?1" : "?0"])
        #expect(session.saved == offset)
        #expect(session.wants == (isComplete ? nil : "PATCH \(offset)"))
        #expect((session.output != nil) == isComplete)
    }

    /// The server has bytes beyond the checkpoint, and the file was touched meanwhile.
    @Test(arguments: dialects, [1 << 20, (1 << 20) + 1] as [Int64])
    func bytesThatCannotBeComparedAreDeleted(dialect: ResumableDialect, offset: Int64) throws {
        var session = try Session(dialect, isTouched: true)
        try session.begin(from: session.checkpoint(1 << 20))
        if dialect == .tus { try session.answer(204) }
        try session.answer(200, ["upload-offset": "\(offset)", "upload-complete": "?0"])
        #expect(session.deletes == (offset > 1 << 20))
        #expect(session.wants == (offset > 1 << 20 ? "POST" : "PATCH \(offset)"))
    }

    @Test(arguments: dialects) func lostRequestsAreRepeatedThreeTimes(dialect: ResumableDialect) throws {
        var session = try Session(dialect)
        try session.begin()
        for wait in [250, 500, 1000] {
            try session.lose()
            #expect(session.request?.request.wait == .milliseconds(wait))
        }
        #expect(throws: KindFailure.self) { try session.lose() }
    }

    /// The interim response named the upload before the connection broke.
    @Test func creationIsKnownFromTheInterimResponse() throws {
        var session = try Session(.draft)
        try session.begin()
        try session.lose(interim: ["location": "/files/1"])
        #expect(session.wants == "PATCH 0" && session.machine.location.description == Self.place)
    }

    @Test func errorThatCompletesTheDraftIsTheTargets() throws {
        for (status, code) in [(412, "already_exists"), (500, "http_status")] {
            var session = try Session(.draft, size: 100, createsOnly: true)
            try session.create()
            try session.answer(status, ["upload-complete": "?1"])
            #expect(session.restart?.code == code)
        }
        // The error response does not say whether the upload is complete; the response to HEAD does.
        var session = try Session(.draft, size: 100)
        try session.create()
        try session.answer(500)
        try session.answer(204, ["upload-offset": "100", "upload-complete": "?1"])
        #expect(session.restart?.status == 500)
    }

    @Test(arguments: [(400, true), (404, true), (501, true), (500, false), (409, false)])
    func serverThatDoesNotKnowTheDraftIsSentAPlainUpload(status: Int, isPlain: Bool) throws {
        var session = try Session(.draft)
        try session.begin()
        do { try session.answer(status) } catch { #expect(!isPlain) }
        #expect(session.steps.contains { if case .sendPlainly = $0 { true } else { false } } == isPlain)
    }

    @Test(arguments: dialects) func creationCanBeRefused(dialect: ResumableDialect) throws {
        for (status, code) in [(412, "already_exists"), (413, "too_large"), (403, "unauthorized")] {
            var session = try Session(dialect, createsOnly: true)
            try session.begin()
            if dialect == .tus { try session.answer(204) }
            let failure = #expect(throws: KindFailure.self) { try session.answer(status) }
            #expect(failure?.code == code)
        }
        var session = try Session(dialect)
        try session.begin()
        if dialect == .tus { try session.answer(204) }
        let failure = #expect(throws: KindFailure.self) { try session.answer(201, ["upload-offset": "0"]) }
        #expect(failure?.code == "protocol_error")
    }

    @Test func limitOfTheServerIsKept() throws {
        var tus = try Session(.tus)
        try tus.begin()
        try tus.answer(204, ["tus-max-size": "1000"])
        #expect(tus.restart?.code == "too_large")
        var draft = try Session(.draft)
        try draft.begin()
        try draft.answer(201, ["location": Self.place, "upload-limit": "max-append-size=700"])
        guard case .piece(let range)? = draft.request?.purpose else { throw KindFailure.cancelled }
        #expect(range == 0..<700)
    }

    /// The result counts as checked only if the tus server accepted each piece completely.
    @Test(arguments: [true, false]) func checksumIsConfirmedForWholePieces(isWhole: Bool) throws {
        var session = try Session(.tus, size: 3 << 19)
        try session.begin()
        try session.answer(204, ["tus-extension": "creation,checksum", "tus-checksum-algorithm": "md5,sha1"])
        try session.answer(201, ["location": Self.place])
        #expect(session.request?.request.headers["upload-checksum"].first?.hasPrefix("sha1 ") == true)
        let first: Int64 = isWhole ? 1 << 20 : 1 << 19
        try session.answer(204, ["upload-offset": "\(first)"])
        try session.answer(204, ["upload-offset": "\(3 << 19)"])
        #expect(session.output?.isChecksumConfirmed == isWhole)
    }

    /// The requests of the draft contain no checksums, even if the server also speaks tus.
    @Test func draftConfirmsNoChecksum() throws {
        var session = try Session(.draft, size: 3 << 19)
        try session.begin()
        let offers: HTTPHeaders = [
            "location": Self.place, "upload-limit": "max-append-size=\(1 << 20)",
            "tus-extension": "creation,checksum", "tus-checksum-algorithm": "sha1",
        ]
        try session.answer(201, offers)
        try session.answer(204, ["upload-offset": "\(1 << 20)", "upload-complete": "?0"])
        try session.answer(204, ["upload-offset": "\(3 << 19)", "upload-complete": "?1"])
        #expect(session.output != nil && session.output?.isChecksumConfirmed != true)
    }
}
