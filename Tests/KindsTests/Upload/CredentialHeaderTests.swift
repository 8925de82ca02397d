import Foundation
import Jobs
import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

/// A secret is sent in the header that the server requires, and always comes from a credential.
@Suite struct CredentialHeaderTests {
    private static let canary = "canary-0c54f1"

    private func send(_ input: (String) -> Upload.Input) async throws -> (LoopbackServer.Request?, KindFailure?) {
        try await LoopbackServer.with { _ in
            .respond(201)
        } _: { server in
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.credentials = { _ throws(KindFailure) in Self.canary }
                configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
                do throws(KindFailure) {
                    _ = try await Upload(client: client, configuration: configuration).run(
                        input(server.origin), context: OperationContext())
                    return (server.requests.first, nil)
                } catch {
                    return (server.requests.first, error)
                }
            }
        }
    }

    @Test(
        arguments: [
            ("X-Api-Key", nil, "x-api-key", "canary-0c54f1"), ("PRIVATE-TOKEN", nil, "private-token", "canary-0c54f1"),
            ("Authorization", "Token ", "authorization", "Token canary-0c54f1"),
            (nil, "Token token=", "authorization", "Token token=canary-0c54f1"),
            ("Cookie", "session=", "cookie", "session=canary-0c54f1"),
            (nil, nil, "authorization", "Bearer canary-0c54f1"),
        ] as [(String?, String?, String, String)])
    func secretGoesInTheHeaderThatIsNamed(header: String?, prefix: String?, name: String, value: String) async throws {
        let (request, failure) = try await send {
            Upload.Input(to: $0, credential: "store", credentialHeader: header, credentialPrefix: prefix, body: "x")
        }
        #expect(failure == nil)
        #expect(request?.header(name) == value)
        if name != "authorization" { #expect(request?.header("authorization") == nil) }
    }

    @Test(arguments: [
        "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-API-KEY", "api_key", "apikey",
        "PRIVATE-TOKEN",
        "X-Auth-Token", "X-Amz-Security-Token", "X-Vault-Token", "Ocp-Apim-Subscription-Key", "X-Functions-Key",
        "X-Goog-Encryption-Key", "x-amz-server-side-encryption-customer-key", "X-Client-Secret", "X-Session-Id",
        "X-Auth",
    ])
    func plainHeadersThatHoldSecretsAreRefused(name: String) async throws {
        let (request, failure) = try await send {
            Upload.Input(to: $0, headers: [name: Self.canary], body: "x")
        }
        #expect(failure?.code == "invalid_input")
        #expect(failure?.message.contains(Self.canary) == false)
        #expect(request == nil)
        // The enqueue and the definitions make the same check.
        let planned = PlannedInput(
            kind: "upload",
            input: JSONText(trusted: Array(#"{"to":"http://h/","body":"x","headers":{"\#(name)":"canary"}}"#.utf8)),
            stage: .definition)
        try await withClient { #expect(Upload(client: $0).refusal(of: planned)?.reason == .invalid) }
    }

    @Test(arguments: [
        ("X-Request-Id", "1"), ("Idempotency-Key", "k"), ("x-amz-meta-session", "evening"), ("Surrogate-Key", "a b"),
        ("x-amz-server-side-encryption-customer-key-md5", "m"), ("X-Author", "Ada"), ("Link", "<a>; rel=b"),
    ])
    func otherHeadersGoAsTheyAre(name: String, value: String) async throws {
        let (request, failure) = try await send { Upload.Input(to: $0, headers: [name: value], body: "x") }
        #expect(failure == nil)
        #expect(request?.header(name.lowercased()) == value)
    }

    @Test func aHeaderWithAnAuthorizationSchemeIsRefused() async throws {
        let (_, failure) = try await send { Upload.Input(to: $0, headers: ["X-Forward": "Bearer abc"], body: "x") }
        #expect(failure?.message.contains("`credential_header`") == true)
    }

    @Test func invalidCombinationsAreRefused() {
        func refusal(_ change: (inout Upload.Input) -> Void) -> String? {
            var input = Upload.Input(to: "http://h/b/k", credential: "store", credentialHeader: "X-Api-Key", body: "x")
            change(&input)
            do throws(KindFailure) {
                try input.check(at: .whole)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(refusal { _ in } == nil)
        #expect(refusal { $0.credential = nil }?.contains("needs a credential") == true)
        #expect(refusal { $0.style = .s3 }?.contains("is not allowed for s3") == true)
        #expect(refusal { $0.credentialHeader = "a b" }?.contains("not a valid header name") == true)
        #expect(refusal { $0.credentialHeader = "Content-Length" }?.contains("must not be `content-length`") == true)
        #expect(refusal { $0.credentialPrefix = "a\r\nb: " }?.contains("printable ASCII") == true)
        #expect(refusal { $0.headers = ["x-API-key": "1"] }?.contains("must not contain secrets") == true)
        #expect(
            refusal {
                $0.credentialHeader = "X-Id"; $0.headers = ["x-id": "1"]
            }?.contains("must not also set") == true)
    }

    /// No other server receives the secret, whether it is the target of a redirect or of a tus server's `Location`.
    @Test(arguments: [Upload.Input.Style.plain, .tus])
    func anotherServerNeverGetsIt(style: Upload.Input.Style) async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } _: { theirs in
            try await LoopbackServer.with { _ in
                .respond(style == .tus ? 201 : 307, [("location", theirs.origin + "/files/1")])
            } _: { ours in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.credentials = { _ throws(KindFailure) in Self.canary }
                    configuration.credentialOrigins = [CredentialOrigin("store=\(ours.origin)")].compactMap(\.self)
                    let upload = Upload(client: client, configuration: configuration)
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(
                            Upload.Input(
                                to: ours.origin + "/files/", style: style, credential: "store",
                                credentialHeader: "X-Api-Key", body: "x"), context: OperationContext())
                    }
                    #expect(failure?.code == "redirect_refused")
                    #expect(failure?.message.contains(Self.canary) == false)
                    #expect(theirs.connections == 0)
                }
            }
        }
    }

    @Test func deletionUsesTheSameHeader() async throws {
        try await LoopbackServer.with { _ in
            .respond(204)
        } _: { server in
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.credentials = { _ throws(KindFailure) in Self.canary }
                configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
                let checkpoint = Checkpoint(
                    style: "tus", target: server.origin, upload: server.origin + "/files/1", credential: "store",
                    credentialHeader: CredentialHeader(name: "X-Api-Key", prefix: "k "),
                    source: OpenFile.Identity(device: 1, inode: 1, size: 1, modifiedNs: 1, changedNs: 1), offset: 0)
                await UploadDeletion(client: client, configuration: configuration).delete(checkpoint)
                #expect(server.requests.first?.header("x-api-key") == "k \(Self.canary)")
            }
        }
    }
}
