import Crypto
import Foundation
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// Uploads whose input contains the expected SHA-256 of the content.
@Suite struct PromisedDigestTests {
    private static let styles: [Upload.Input.Style] = [.plain, .form, .tus, .resumable, .s3]

    private func input(
        _ file: String, _ server: LoopbackServer, _ style: Upload.Input.Style, _ sha256: String
    ) -> Upload.Input {
        Upload.Input(
            file: file, to: server.origin + (style == .s3 ? "/files/data.bin" : "/files"), style: style,
            credential: style == .s3 ? "s3" : nil,
            sha256: sha256)
    }

    /// Writes a file that takes several parts in S3, several chunks on resumable servers, and several buffers
    /// elsewhere.
    private func withFile<T>(
        _ client: OutgoingClient, to server: LoopbackServer,
        _ body: (Upload, _ file: String, _ bytes: [UInt8]) async throws -> T
    ) async throws -> T {
        try await withFolder { folder in
            let bytes = randomBytes((3 << 20) + 77, seed: 5)
            try Data(bytes).write(to: URL(filePath: folder + "/data.bin"))
            var configuration = UploadConfiguration()
            configuration.roots = [folder]
            configuration.chunkBytes = 1 << 20
            configuration.partBytes = 1 << 20
            configuration.credentials = { _ in "ACCESS:secret" }
            configuration.credentialOrigins = [try #require(CredentialOrigin("s3=\(server.origin)"))]
            return try await body(
                Upload(client: client, configuration: configuration), folder + "/data.bin", bytes)
        }
    }

    @Test(arguments: styles)
    func contentThatIsWhatItMustBeIsTaken(style: Upload.Input.Style) async throws {
        let servers = Servers()
        try await LoopbackServer.with {
            servers.answer($0, style)
        } _: { server in
            try await withClient { client in
                try await withFile(client, to: server) { upload, file, bytes in
                    let digest = SHA256.hash(data: bytes)
                    let output = try await upload.run(
                        input(file, server, style, digest.hexadecimal.uppercased()), context: OperationContext())
                    #expect(output.sha256 == digest.hexadecimal)
                    let told = server.requests.compactMap { $0.header("repr-digest") }
                    let isTold = style == .plain || style == .resumable
                    #expect(told == (isTold ? ["sha-256=:\(Data(digest).base64EncodedString()):"] : []))
                }
            }
        }
    }

    @Test(arguments: styles)
    func otherContentIsNeverFinished(style: Upload.Input.Style) async throws {
        let servers = Servers()
        try await LoopbackServer.with {
            servers.answer($0, style)
        } _: { server in
            try await withClient { client in
                try await withFile(client, to: server) { upload, file, bytes in
                    let wrong = input(file, server, style, String(repeating: "0", count: 64))
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(wrong, context: OperationContext())
                    }
                    #expect(failure?.code == "source_changed")
                    #expect(failure?.isRetryable == false)
                    #expect(!servers.hasFinished(style))
                    // The list contains complete requests only: none of them contained the whole file.
                    #expect(server.requests.allSatisfy { $0.body.count < bytes.count })
                    // The upload deletes what it had begun.
                    if style == .tus || style == .resumable {
                        let isForgotten = servers.resumable.state.withLock { $0.isForgotten }
                        #expect(isForgotten)
                    }
                    if style == .s3 { #expect(server.requests.contains { $0.method == "DELETE" }) }
                }
            }
        }
    }

    @Test(arguments: ["", "abc", String(repeating: "g", count: 64), String(repeating: "0", count: 66)])
    func digestThatIsNoneIsRefused(text: String) async throws {
        try await withClient { client in
            let failure = await failure { () async throws(KindFailure) in
                try await Upload(client: client).run(
                    Upload.Input(to: "http://127.0.0.1:1/", sha256: text, body: "x"), context: OperationContext())
            }
            #expect(failure?.code == "invalid_input")
        }
    }

    @Test func otherTextIsNotSentAtAll() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin, sha256: String(repeating: "0", count: 64), body: "x"),
                        context: OperationContext())
                }
                #expect(failure?.code == "source_changed")
                #expect(server.requests.isEmpty)
            }
        }
    }
}

/// One server for each protocol.
private struct Servers: Sendable {
    let resumable = ResumableServer()
    let store = PartStore()

    func answer(_ request: LoopbackServer.Request, _ style: Upload.Input.Style) -> LoopbackServer.Answer {
        switch style {
        case .tus, .resumable: resumable.answer(request)
        case .s3: store.answer(request)
        default: .respond(201)
        }
    }

    func hasFinished(_ style: Upload.Input.Style) -> Bool {
        switch style {
        case .tus, .resumable: resumable.state.withLock { $0.isComplete }
        case .s3: store.state.withLock { $0.isComplete }
        default: false
        }
    }
}
