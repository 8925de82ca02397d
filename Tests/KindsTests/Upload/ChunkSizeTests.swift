import Foundation
import OperationTypes
import Synchronization
import Testing

@testable import Kinds

@Suite struct ChunkSizeTests {
    /// A server in front of the server may take less than the server says.
    @Test(arguments: [Upload.Input.Style.tus, .resumable])
    func piecesBecomeSmallerWhereTheyAreTooLarge(style: Upload.Input.Style) async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            request.body.count > 1 << 20 ? .respond(413) : store.answer(request)
        } _: { server in
            try await withFolder { folder in
                let bytes = randomBytes((3 << 20) + 77, seed: 4)
                try Data(bytes).write(to: URL(fileURLWithPath: folder + "/f"))
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    let output = try await Upload(client: client, configuration: configuration).result(
                        Upload.Input(file: folder + "/f", to: server.origin + "/files", style: style))
                    #expect(store.state.withLock { $0.stored }.elementsEqual(bytes))
                    // The whole once, then pieces of 1 MiB.
                    #expect(output.sends == 5)
                }
            }
        }
    }

    @Test func pieceThatIsTooLargeEvenWhenSmallFails() async throws {
        let store = ResumableServer()
        try await LoopbackServer.with { request in
            request.method == "PATCH" ? .respond(413) : store.answer(request)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin + "/files", style: .tus, body: "x"), context: OperationContext())
                }
                #expect(failure?.code == "too_large")
            }
        }
    }
}
