import Foundation
import Jobs
import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

/// The head of the response says that the server has stored the content, so problems with the response's body do not
/// matter.
@Suite struct UploadAnswerTests {
    enum Flaw: String, CaseIterable {
        case cut, unknownCoding, badChunk, slow
    }

    private static func stored(_ flaw: Flaw, _ headers: String = "") -> LoopbackServer.Answer {
        let head = "HTTP/1.1 201 X\r\netag: \"0123456789abcdef0123456789abcdef\"\r\n\(headers)"
        let (rest, closes) =
            switch flaw {
            case .cut: ("content-length: 100\r\n\r\n8 bytes.", true)
            case .unknownCoding: ("content-encoding: lz4\r\ncontent-length: 4\r\n\r\nnope", false)
            case .badChunk: ("transfer-encoding: chunked\r\n\r\nzz\r\n", true)
            case .slow: ("content-length: 100\r\n\r\n8 bytes.", false)
            }
        return .raw(Array((head + rest).utf8), closes: closes)
    }

    private func send(_ input: (String) -> Upload.Input, to server: LoopbackServer) async throws -> Upload.Output {
        var outgoing = loopbackConfiguration()
        outgoing.limits.idle = .seconds(5)
        return try await withClient(outgoing) { client in
            var configuration = UploadConfiguration()
            configuration.credentials = { _ throws(KindFailure) in "AKIDEXAMPLE:secret" }
            configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
            return try await Upload(client: client, configuration: configuration).result(input(server.origin + "/b/k"))
        }
    }

    @Test(arguments: Flaw.allCases) func postIsNotSentTwice(flaw: Flaw) async throws {
        try await LoopbackServer.with { _ in
            Self.stored(flaw)
        } _: { server in
            let output = try await send({ Upload.Input(to: $0, method: .post, body: "x") }, to: server)
            #expect(output.status == 201 && output.bytes == 1)
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [Upload.Input.Style.plain, .form, .s3], Flaw.allCases)
    func everyUploadInOneRequestIsSettledByTheHead(style: Upload.Input.Style, flaw: Flaw) async throws {
        try await LoopbackServer.with { _ in
            Self.stored(flaw)
        } _: { server in
            let credential = style == .s3 ? "store" : nil
            let output = try await send(
                { Upload.Input(to: $0, style: style, credential: credential, body: "x") }, to: server)
            #expect(output.etag == PartStore.etag)
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [Upload.Input.Style.tus, .resumable], [Flaw.cut, .unknownCoding])
    func resumableUploadsAreSettledByTheHead(style: Upload.Input.Style, flaw: Flaw) async throws {
        try await LoopbackServer.with { request in
            switch request.method {
            case "POST": Self.stored(flaw, "location: /files/1\r\nupload-offset: 0\r\nupload-complete: ?0\r\n")
            case "PATCH": Self.stored(flaw, "upload-offset: 1\r\nupload-complete: ?1\r\n")
            default: .respond(204)
            }
        } _: { server in
            let output = try await send({ Upload.Input(to: $0, style: style, body: "x") }, to: server)
            #expect(output.bytes == 1)
            #expect(server.requests.filter { ["POST", "PATCH"].contains($0.method) }.count == 2)
        }
    }

    /// A server may begin its response immediately and end it after it has received everything.
    @Test func answerThatBeginsBeforeTheBodyIsTakenIsWaitedFor() async throws {
        try await LoopbackServer.with { _ in
            .raw(Array("done".utf8), closes: false)
        } greeting: { _ in
            .raw(Array("HTTP/1.1 200 X\r\ncontent-length: 6\r\n\r\n..".utf8), closes: false)
        } _: { server in
            let body = String(repeating: "x", count: 3 << 20)
            let output = try await send(
                { Upload.Input(to: $0, maxRate: ByteSize(1 << 20), body: body) }, to: server)
            #expect(output.bytes == 3 << 20)
            #expect(server.requests.count == 1)
        }
    }

    /// A server that refuses a body often closes the connection before its response is complete.
    @Test func refusalIsToldByTheHeadToo() async throws {
        try await LoopbackServer.with { _ in
            .raw(Array("HTTP/1.1 413 X\r\ncontent-length: 100\r\n\r\ntoo l".utf8), closes: true)
        } _: { server in
            let failure = await #expect(throws: KindFailure.self) {
                try await send({ Upload.Input(to: $0, body: "x") }, to: server)
            }
            #expect(failure?.code == "too_large" && failure?.isRetryable == false)
        }
    }
}
