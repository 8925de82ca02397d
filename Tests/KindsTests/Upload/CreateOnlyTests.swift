import Crypto
import Foundation
import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

/// A create-only upload never replaces an existing file.
@Suite struct CreateOnlyTests {
    @Test func createOnlyKeepsWhatIsThere() async throws {
        try await LoopbackServer.with {
            $0.header("if-none-match") == "*" ? .respond(412) : .respond(200)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin, createOnly: true, body: "x"), context: OperationContext())
                }
                #expect(failure?.code == "already_exists")
            }
        }
    }

    /// The digest or ETag of the existing file shows whether an earlier attempt stored it.
    @Test func createOnlyAfterALostAnswerIsSettledByWhatIsThere() async throws {
        let right = "sha-256=:\(Data(SHA256.hash(data: Array("x".utf8))).base64EncodedString()):"
        for (header, value, attempt, code) in [
            ("repr-digest", right, 2, nil), ("etag", "\"9dd4e461268c8034f5c8564e155c67a6\"", 2, nil),
            ("repr-digest", right, 1, "already_exists"), ("repr-digest", "sha-256=:AAAA:", 2, "already_exists"),
            ("etag", "\"e\"", 2, "already_exists"),
        ] as [(String, String, Int, String?)] {
            try await LoopbackServer.with { request in
                request.method == "HEAD" ? .respond(200, [(header, value)]) : .respond(412)
            } _: { server in
                try await withClient { client in
                    let input = Upload.Input(to: server.origin, createOnly: true, body: "x")
                    let context = OperationContext(attempt: attempt)
                    do throws(KindFailure) {
                        let output = try await Upload(client: client).run(input, context: context)
                        #expect(code == nil && output.isChecksumConfirmed)
                    } catch {
                        #expect(error.code == code)
                    }
                }
            }
        }
    }
}
