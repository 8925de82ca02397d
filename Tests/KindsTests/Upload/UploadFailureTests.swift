import Foundation
import Jobs
import OperationTypes
import Programs
import Samples
import Servers
import Testing
import Web
import WebSyntax

@testable import Kinds

/// Each failure of `upload` that the server does not report has its own code.
@Suite struct UploadFailureTests {
    private func code(
        of input: Upload.Input, _ configure: (inout UploadConfiguration) -> Void = { _ in }
    ) async throws -> String? {
        var configuration = UploadConfiguration()
        configure(&configuration)
        return try await withClient { [configuration] client in
            await failure { () async throws(KindFailure) in
                try await Upload(client: client, configuration: configuration).run(input, context: OperationContext())
            }?.code
        }
    }

    @Test(
        arguments: [
            (Upload.Input(to: "http://127.0.0.1:1/"), "invalid_input"),
            (Upload.Input(file: "/f", to: "http://127.0.0.1:1/", body: "x"), "invalid_input"),
            (Upload.Input(to: "http://127.0.0.1:1/", maxRate: ByteSize(0), body: "x"), "invalid_input"),
            (Upload.Input(to: "http://127.0.0.1:1/", timeout: .zero, body: "x"), "invalid_input"),
            (Upload.Input(to: "http://user:secret@127.0.0.1:1/", body: "x"), "invalid_input"),
            (Upload.Input(to: "http://127.0.0.1:1/", contentType: "a\nb", body: "x"), "invalid_input"),
            (Upload.Input(to: "http://127.0.0.1:1/b/k", style: .s3, body: "x"), "invalid_input"),
            (Upload.Input(to: "file:///etc/passwd", body: "x"), "invalid_url"),
            (Upload.Input(to: "http://10.0.0.1/", body: "x"), "address_refused"),
            (Upload.Input(to: "http://1.1.1.1:25/", body: "x"), "port_refused"),
            (Upload.Input(to: "http://127.0.0.1:1/", body: "x"), "connect_failed"),
            (Upload.Input(to: "http://127.0.0.1:1/", credential: "none", body: "x"), "credential_refused"),
            (Upload.Input(file: "/nowhere/f", to: "http://127.0.0.1:1/"), "file_refused"),
        ])
    func inputThatCannotBeSentFailsByItsCode(input: Upload.Input, code: String) async throws {
        let given = try await self.code(of: input)
        #expect(given == code)
    }

    /// The message is the same on systems without systemd.
    @Test func aMissingCredentialSaysWhereItBelongs() {
        let configuration = {
            var configuration = UploadConfiguration()
            configuration.credentialOrigins = [CredentialOrigin("c=http://127.0.0.1:1")].compactMap(\.self)
            return configuration
        }()
        let failure = #expect(throws: KindFailure.self) {
            try configuration.secret(named: "c", for: WebURL(parsing: "http://127.0.0.1:1/"))
        }
        #expect(failure?.reason == .credentialNotFound)
        #expect(
            failure?.message.contains("into a file of that name in the folder set by upload.credentials") == true)
    }

    @Test(arguments: ["", "line\nbreak", "bell\u{7}"])
    func credentialThatCannotBeSentIsNone(secret: String) async throws {
        let code = try await code(of: Upload.Input(to: "http://127.0.0.1:1/", credential: "c", body: "x")) {
            $0.credentials = { _ throws(KindFailure) in secret }
            $0.credentialOrigins = [CredentialOrigin("c=http://127.0.0.1:1")].compactMap(\.self)
        }
        #expect(code == "credential_not_found")
    }

    /// The limit of the whole upload also applies while the server is only slow.
    @Test func uploadThatTakesTooLongEnds() async throws {
        try await LoopbackServer.with { _ in
            .silence
        } _: { server in
            let code = try await code(of: Upload.Input(to: server.origin, timeout: .milliseconds(100), body: "x"))
            #expect(code == "timeout")
        }
    }

    @Test func waitThatTheServerAsksForIsBelievedToALimit() async throws {
        try await LoopbackServer.with { _ in
            .respond(503, [("retry-after", "999999")])
        } _: { server in
            var configuration = loopbackConfiguration()
            configuration.limits.retryAfter = .seconds(7)
            try await withClient(configuration) { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin, body: "x"), context: OperationContext())
                }
                #expect(failure?.isRetryable == true && failure?.retryAfter == .seconds(7))
            }
        }
    }

    @Test func rootThatIsMissingIsUnreadable() async throws {
        let code = try await code(of: Upload.Input(file: "/nowhere/at/all/f", to: "http://127.0.0.1:1/")) {
            $0.roots = ["/nowhere/at/all"]
        }
        #expect(code == "file_unreadable")
    }

    @Test func fileBeyondTheLimitIsRefused() async throws {
        try await withFolder { folder in
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: folder + "/f"))
            let code = try await code(of: Upload.Input(file: folder + "/f", to: "http://127.0.0.1:1/")) {
                $0.roots = [folder]
                $0.maxBytes = 2
            }
            #expect(code == "file_refused")
        }
    }

    @Test func redirectsHaveAnEnd() async throws {
        try await LoopbackServer.with {
            .redirect(307, to: $0.path + "x")
        } _: { server in
            let code = try await code(of: Upload.Input(to: server.origin + "/a", body: "x"))
            #expect(code == "too_many_redirects")
            #expect(server.requests.count == 6)
        }
    }

    /// The upload does not continue if it cannot save its progress.
    @Test func checkpointThatCannotBeWrittenFails() async throws {
        try await withFolder { folder in
            try Data(randomBytes(3000, seed: 3)).write(to: URL(fileURLWithPath: folder + "/f"))
            try await LoopbackServer.with { _ in
                .respond(201, [("location", "/files/1")])
            } _: { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    configuration.checkpoints = folder + "/f/under-a-file"
                    let upload = Upload(client: client, configuration: configuration)
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(
                            Upload.Input(file: folder + "/f", to: server.origin, style: .tus),
                            job: JobContext(
                                lease: Lease(job: JobID(1), attempt: 1), operation: OperationContext(),
                                onEnqueue: { _ in }))
                    }
                    #expect(failure?.code == "checkpoint_failed")
                    #expect(failure?.isRetryable == true)
                }
            }
        }
    }

    /// nginx reports a file that exceeds its limit.
    @Test(.enabled(if: Nginx.isInstalled, "nginx is not installed"))
    func fileThatTheServerDoesNotTakeIsTooLarge() async throws {
        try await Nginx.with { nginx in
            let code = try await code(
                of: Upload.Input(to: nginx.origin + "/small/x", body: String(repeating: "x", count: 3000)))
            #expect(code == "too_large")
        }
    }
}
