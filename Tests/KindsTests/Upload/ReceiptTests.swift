import Crypto
import Foundation
import Jobs
import OperationTypes
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// The receipt of a completed upload serves a second attempt, which runs if the result was not stored.
@Suite struct ReceiptTests {
    private func withUpload(
        _ answer: @escaping LoopbackServer.Handler,
        _ body: (LoopbackServer, Upload, _ checkpoints: String) async throws -> Void
    ) async throws {
        try await LoopbackServer.with(answer) { server in
            try await withFolder { folder in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.checkpoints = folder
                    try await body(server, Upload(client: client, configuration: configuration), folder)
                }
            }
        }
    }

    private func job(_ number: Int64, attempt: Int) -> JobContext {
        JobContext(
            lease: Lease(job: JobID(number), attempt: attempt), operation: OperationContext(attempt: attempt),
            onEnqueue: { _ in })
    }

    @Test(arguments: [Upload.Input.Style.plain, .form])
    func aLaterAttemptReturnsTheReceiptAndSendsNothing(style: Upload.Input.Style) async throws {
        try await withUpload { _ in
            .respond(201, [("etag", "\"e\"")])
        } _: { server, upload, folder in
            let input = Upload.Input(to: server.origin + "/inbox", style: style, body: "x")
            let first = try await upload.run(input, job: job(7, attempt: 1))
            #expect(try await upload.run(input, job: job(7, attempt: 2)) == first)
            #expect(server.requests.count == 1)
            // The upload sends other content, and the first attempt of a job with the same number in another database
            // sends the content again.
            _ = try await upload.run(input, job: job(7, attempt: 1))
            var other = input
            other.body = "y"
            _ = try await upload.run(other, job: job(7, attempt: 2))
            #expect(server.requests.count { $0.method != "HEAD" } == 3)
        }
    }

    @Test func nothingRemainsOnceTheSuccessIsDurable() async throws {
        try await withUpload { _ in
            .respond(201)
        } _: { server, upload, folder in
            let input = Upload.Input(to: server.origin, body: "x")
            _ = try await upload.run(input, job: job(7, attempt: 1))
            #expect(CheckpointFile.jobs(in: folder) == [JobID(7)])
            upload.didSucceed(JobID(7))
            // The removal runs on the client's threads; `shutdown()` waits for it.
            await upload.client.shutdown()
            #expect(CheckpointFile.jobs(in: folder).isEmpty)
        }
    }

    /// An upload in one request is never deleted at the server, because an earlier file may have had the same content.
    @Test func anUploadInOneRequestIsNotDeletedAtTheServer() async throws {
        try await withUpload { _ in
            .respond(201)
        } _: { server, upload, folder in
            _ = try await upload.run(Upload.Input(to: server.origin, body: "x"), job: job(7, attempt: 1))
            #expect(try await !upload.leavesAnything { _ in .cancelled })
            #expect(server.requests.map(\.method) == ["PUT"])
            #expect(CheckpointFile.jobs(in: folder).isEmpty)
        }
    }

    /// Only the server knows the outcome if the process is killed between the response and the checkpoint.
    @Test(arguments: [
        ("repr-digest", true, "text/plain; charset=utf-8", 0), ("etag", true, "text/plain; charset=utf-8", 0),
        ("etag", true, "text/html", 1), ("etag", false, "text/plain; charset=utf-8", 1),
        ("last-modified", true, "text/plain; charset=utf-8", 1),
    ])
    func aPutThatWasStoredBeforeIsNotRepeated(header: String, isSame: Bool, type: String, puts: Int) async throws {
        let bytes = Array((isSame ? "x" : "y").utf8)
        let value =
            switch header {
            case "repr-digest": "sha-256=:\(Data(SHA256.hash(data: bytes)).base64EncodedString()):"
            case "etag": "\"\(Insecure.MD5.hash(data: bytes).hexadecimal)\""
            default: "Sun, 06 Nov 1994 08:49:37 GMT"
            }
        try await withUpload { request in
            .respond(request.method == "HEAD" ? 200 : 204, [(header, value), ("content-type", type)])
        } _: { server, upload, _ in
            let input = Upload.Input(to: server.origin, body: "x")
            let output = try await upload.run(input, job: job(7, attempt: 2))
            #expect(output.bytes == 1)
            #expect(server.requests.count { $0.method == "PUT" } == puts)
        }
    }
}
