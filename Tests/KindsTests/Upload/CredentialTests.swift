import Foundation
import Jobs
import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

/// A secret is sent only to the servers that the administrator named for it.
@Suite struct CredentialTests {
    private static let canary = "canary-0c54f1"

    private func upload(_ client: OutgoingClient, _ origins: String...) -> Upload {
        var configuration = UploadConfiguration()
        configuration.credentials = { _ throws(KindFailure) in Self.canary }
        configuration.credentialOrigins = origins.compactMap(CredentialOrigin.init)
        return Upload(client: client, configuration: configuration)
    }

    /// A user who may enqueue jobs names a server of their own; nothing connects to it.
    @Test(arguments: [Upload.Input.Style.plain, .form, .tus, .resumable, .auto, .s3])
    func serverThatIsNotNamedGetsNothing(style: Upload.Input.Style) async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } _: { theirs in
            try await withClient { client in
                let upload = upload(
                    client, "storage=https://127.0.0.1:\(theirs.port)", "storage=http://127.0.0.1:1",
                    "storage=http://localhost:\(theirs.port)", "other=\(theirs.origin)")
                let failure = await failure { () async throws(KindFailure) in
                    try await upload.run(
                        Upload.Input(to: theirs.origin + "/x/y", style: style, credential: "storage", body: "x"),
                        context: OperationContext())
                }
                #expect(failure?.code == "credential_refused")
                #expect(failure?.isRetryable == false)
                #expect(failure?.message.contains("`storage=\(theirs.origin)`") == true)
                #expect(theirs.connections == 0)
            }
        }
    }

    @Test func serverThatIsNamedGetsIt() async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } _: { ours in
            try await withClient { client in
                let upload = upload(client, "storage=http://127.0.0.1:1", "storage=\(ours.origin)")
                _ = try await upload.result(
                    Upload.Input(to: ours.origin + "/x?y", credential: "storage", body: "x"))
                #expect(ours.requests.first?.header("authorization") == "Bearer \(Self.canary)")
            }
        }
    }

    /// The deletion of an upload does not send the credential to a server that was permitted only earlier.
    @Test(arguments: ["tus", "s3"])
    func uploadIsTakenBackWithoutASecretThatMayNoLongerGoThere(style: String) async throws {
        try await LoopbackServer.with { _ in
            .respond(204)
        } _: { theirs in
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.credentials = { _ throws(KindFailure) in "ACCESS:\(Self.canary)" }
                let checkpoint = Checkpoint(
                    style: style, target: theirs.origin + "/files/", upload: theirs.origin + "/files/1",
                    credential: "storage",
                    source: OpenFile.Identity(device: 1, inode: 1, size: 1, modifiedNs: 1, changedNs: 1), offset: 0)
                await UploadDeletion(client: client, configuration: configuration).delete(checkpoint)
                #expect(theirs.connections == 0)
                configuration.credentialOrigins = [CredentialOrigin("storage=\(theirs.origin)")].compactMap(\.self)
                await UploadDeletion(client: client, configuration: configuration).delete(checkpoint)
                #expect(theirs.requests.map(\.method) == ["DELETE"])
            }
        }
    }

    @Test(arguments: [
        ("storage=https://S3.Example.org:443", "storage=https://s3.example.org"),
        ("a=http://nas:9000/", "a=http://nas:9000"), ("a=b=http://h", nil), ("a=https://[::1]:1", "a=https://[::1]:1"),
    ])
    func originIsReadAsAnAddress(text: String, written: String?) {
        #expect(CredentialOrigin(text)?.description == written)
    }

    @Test(arguments: [
        "", "storage", "=https://h", "storage=", "storage=h", "storage=ftp://h", "storage=https://h/bucket",
        "storage=https://h?x", "storage=https://h#x", "storage=https://user:word@h", "storage=https://*",
    ])
    func whatIsMoreOrLessThanAnOriginIsRefused(text: String) { #expect(CredentialOrigin(text) == nil) }
}
