import Crypto
import Foundation
import Jobs
import OperationTypes
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// Servers that use another protocol, redirect the upload, or make no progress.
extension ResumableUploadTests {
    @Test func serverThatDoesNotKnowTheDraftGetsAPlainUpload() async throws {
        try await LoopbackServer.with { request in
            request.body.isEmpty ? .respond(400) : .respond(201)
        } _: { server in
            try await withClient { client in
                let output = try await Upload(client: client).result(
                    Upload.Input(to: server.origin + "/x", style: .resumable, body: "hello"))
                #expect(output.bytes == 5)
                #expect(server.requests.last?.body == Array("hello".utf8))
            }
        }
    }

    @Test func credentialDoesNotFollowTheUploadToAnotherServer() async throws {
        try await LoopbackServer.with { _ in
            .respond(201, [("location", "http://127.0.0.1:1/files/1")])
        } _: { server in
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.credentials = { _ throws(KindFailure) in "canary" }
                configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
                let upload = Upload(client: client, configuration: configuration)
                let failure = await failure { () async throws(KindFailure) in
                    try await upload.run(
                        Upload.Input(to: server.origin, style: .tus, credential: "store", body: "x"),
                        context: OperationContext())
                }
                #expect(failure?.code == "redirect_refused")
            }
        }
    }

    /// The server has stored an empty request as the whole file; only the user can decide whether to send another one.
    @Test func serverThatTakesTheBeginningForTheWholeIsNotAskedAgain() async throws {
        try await LoopbackServer.with { _ in
            .respond(201, [("location", "/things/7")])
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin + "/x", style: .resumable, body: "hello"),
                        context: OperationContext())
                }
                #expect(failure?.code == "protocol_error")
                #expect(failure?.isRetryable == false)
                #expect(server.requests.count == 1)
            }
        }
    }

    /// The input's headers are meant only for the server that the user named.
    @Test func headersDoNotFollowTheUploadToAnotherServer() async throws {
        try await LoopbackServer.with { _ in
            .respond(201, [("location", "http://127.0.0.1:1/files/1")])
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin, style: .tus, headers: ["x-team": "canary"], body: "x"),
                        context: OperationContext())
                }
                #expect(failure?.code == "redirect_refused")
            }
        }
    }

    /// An upload without headers or credential may move to another server, for example a store behind a front end.
    @Test func bareUploadGoesOnToAnotherServer() async throws {
        let store = ResumableServer()
        try await LoopbackServer.with {
            store.answer($0)
        } _: { other in
            try await LoopbackServer.with { request in
                request.method == "POST"
                    ? .respond(201, [("location", other.origin + "/files/1")]) : .respond(204, [])
            } _: { server in
                store.state.withLock { $0.length = 5 }
                try await withClient { client in
                    let output = try await Upload(client: client).run(
                        Upload.Input(to: server.origin + "/files", style: .tus, body: "hello"),
                        context: OperationContext())
                    #expect(output.location == other.origin + "/files/1")
                    #expect(store.state.withLock { $0.stored } == Array("hello".utf8))
                }
            }
        }
    }

    /// The server accepts pieces without naming its offset, or its offset returns to zero repeatedly.
    @Test(arguments: [nil, 1 << 20])
    func serverThatNeverComesForwardIsGivenUp(says offset: Int?) async throws {
        let sends = Mutex(0)
        try await LoopbackServer.with { request in
            switch request.method {
            case "POST": return .respond(201, [("location", "/files/1"), ("tus-resumable", "1.0.0")])
            case "PATCH":
                sends.withLock { $0 += 1 }
                return .respond(204, offset.map { [("upload-offset", "\($0)")] } ?? [])
            case "HEAD": return .respond(200, [("upload-offset", "0")])
            default: return .respond(204, [("tus-resumable", "1.0.0"), ("tus-extension", "creation")])
            }
        } _: { server in
            try await withClient { client in
                try await withUpload(client) { upload, file, _ in
                    let input = Upload.Input(file: file, to: server.origin + "/files", style: .tus)
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(input, job: job(14))
                    }
                    #expect(failure?.code == "connection_lost")
                    #expect(sends.withLock { $0 } <= 20)
                }
            }
        }
    }
}
