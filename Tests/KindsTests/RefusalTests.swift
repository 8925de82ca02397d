import Foundation
import Glibc
import Jobs
import OperationTypes
import Testing
import Web

@testable import Kinds

/// The inputs that a kind refuses before the job is accepted.
@Suite struct RefusalTests {
    private func configuration(root: String = "/srv/out") -> KindsConfiguration {
        var configuration = KindsConfiguration()
        configuration.upload.roots = [root]
        configuration.upload.credentialOrigins = [CredentialOrigin("storage=https://s3.example.org")].compactMap(
            \.self)
        return configuration
    }

    private func upload(root: String = "/srv/out") -> Upload {
        Upload(client: OutgoingClient(), configuration: configuration(root: root).upload)
    }

    private func refusal(_ input: PlannedInput) throws -> InputRefusal? {
        let kinds = try KindRegistry(builtInKinds(configuration(), client: OutgoingClient()))
        return kinds[input.kind]?.kind?.refusal(of: input)
    }

    private func planned(_ kind: String, _ input: String, _ stage: PlannedInput.Stage) throws -> PlannedInput {
        PlannedInput(kind: kind, input: try JSONText(checking: Array(input.utf8)), stage: stage)
    }

    private static let hopeless: [(kind: String, input: String, message: String)] = [
        ("unfurl", #"{"url":"ftp://example.org/"}"#, "the scheme \"ftp\" is not http or https"),
        ("enrich", #"{"url":""}"#, "the address is empty"),
        ("enrich", #"{"url":"example.org"}"#, "does not begin with"),
        ("unfurl", #"{"url":"http://example.org:99999/"}"#, "the port is not"),
        ("upload", #"{"to":"not a url","body":"x"}"#, "to: the address does not begin with"),
        ("upload", #"{"to":"http://user:pw@example.org/","body":"x"}"#, "use a credential instead"),
        ("upload", #"{"to":"http://example.org/"}"#, "`file` is missing; give a file or a body"),
        ("upload", #"{"to":"http://example.org/","body":"x","file":"/srv/out/x"}"#, "remove one of them"),
        ("upload", #"{"to":"http://example.org/","file":"x"}"#, "must be an absolute path"),
        ("upload", #"{"to":"http://example.org/","body":"x","protocol":"s3"}"#, "must name a credential of the form"),
        ("upload", #"{"to":"http://example.org/","body":"x","headers":{"Host":"a"}}"#, "must not set `host`"),
        (
            "upload", #"{"to":"http://example.org/","body":"x","headers":{"Cookie":"a"}}"#,
            "put the value into a credential"
        ),
        ("upload", #"{"to":"http://example.org/","body":"x","headers":{"a b":"c"}}"#, "that HTTP does not allow"),
        ("upload", #"{"to":"http://example.org/","body":"x","headers":{"a":1}}"#, "\"headers.a\" is not of the type"),
        ("upload", #"{"to":"http://example.org/","body":"x","sha256":"ab"}"#, "64 hexadecimal digits"),
        ("upload", #"{"to":"http://example.org/","body":"x","content_type":""}"#, "must be a media type"),
        ("upload", #"{"to":"http://example.org/","body":"x","content_type":"picture"}"#, "must be a media type"),
        (
            "upload", #"{"to":"http://h.example/","body":"x","protocol":"s3","credential":"storage"}"#,
            "add the object's key"
        ),
        (
            "upload", #"{"to":"http://h.example/b/","body":"x","protocol":"s3","credential":"storage"}"#,
            "add the object's key"
        ),
        (
            "upload", #"{"to":"http://192.0.2.1/b","body":"x","protocol":"s3","credential":"storage"}"#,
            "add the object's key"
        ),
        (
            "upload", #"{"to":"http://store/b","body":"x","protocol":"s3","credential":"storage"}"#,
            "add the object's key"
        ),
        (
            "upload", #"{"to":"http://example.org/","body":"x","create_only":true,"method":"POST"}"#,
            "works only with PUT, s3 and resumable"
        ),
        (
            "upload", #"{"to":"http://example.org/","body":"x","create_only":true,"protocol":"tus"}"#,
            "works only with PUT, s3 and resumable"
        ),
    ]

    @Test(arguments: hopeless)
    func whatCouldNeverWorkIsRefusedBeforeItIsAccepted(kind: String, input: String, message: String) throws {
        let problem = try refusal(planned(kind, input, .whole))
        #expect(problem?.message.contains(message) == true, "\(problem?.message ?? "taken")")
        #expect(problem?.reason == .invalid)
    }

    /// The check before the job and the run refuse the same inputs with the same messages, and the run sends nothing.
    @Test(arguments: hopeless.filter { $0.kind == "upload" })
    func theRunSaysTheSame(kind: String, input: String, message: String) async throws {
        let client = OutgoingClient()
        let upload = RunnableKind(Upload(client: client, configuration: configuration().upload))
        let job = JobContext(
            lease: Lease(job: JobID(1), attempt: 1), operation: OperationContext(), onEnqueue: { _ in })
        let outcome = await upload.run(
            JobPayload(explicit: try JSONText(checking: Array(input.utf8))), job: job, kinds: try KindRegistry([]))
        await client.shutdown()
        guard case .failure(let failed) = outcome else {
            Issue.record("it ran")
            return
        }
        #expect(failed.failure.message.contains(message), "\(failed.failure.message)")
        #expect(!failed.isRetryable)
    }

    @Test(arguments: [
        (
            #"{"to":"https://example.org/x","file":"/etc/passwd"}"#, "The daemon may not send /etc/passwd",
            "fileOutsideRoots"
        ),
        (
            #"{"to":"http://s3.example.org/x?y","body":"x","credential":"storage"}"#,
            "add `storage=http://s3.example.org` to upload.credential_origins", "credentialRefused"
        ),
        (
            #"{"to":"https://s3.example.org:444/x","body":"x","credential":"storage"}"#,
            "The credential storage may not be sent to https://s3.example.org:444", "credentialRefused"
        ),
        (
            #"{"to":"https://s3.example.org/x","body":"x","credential":"none"}"#, "The credential none may not",
            "credentialRefused"
        ),
    ])
    func whatTheConfigurationForbidsIsRefused(input: String, message: String, code: String) throws {
        let problem = try refusal(planned("upload", input, .whole))
        #expect(problem?.message.contains(message) == true, "\(problem?.message ?? "taken")")
        #expect(problem.map { "\($0.reason)" } == code)
        // A definition may be stored before the configuration allows its input.
        #expect(try refusal(planned("upload", input, .definition)) == nil)
    }

    @Test func aFileThatCanNeverBeSentIsRefused() throws {
        let folder = try TemporaryFolder()
        #expect(mkdir(folder.path + "/folder", 0o700) == 0 && mkfifo(folder.path + "/pipe", 0o600) == 0)
        try Data("x".utf8).write(to: URL(filePath: folder.path + "/file"))
        let upload = upload(root: folder.path)
        for (name, message) in [
            ("folder", "send every file in it with: halyard upload \(folder.path)/folder --to URL"),
            ("pipe", "is not a regular file"), ("file", nil), ("later", nil),
        ] as [(String, String?)] {
            let input = #"{"to":"https://example.org/x","file":"\#(folder.path)/\#(name)"}"#
            let told = upload.blockingCheck(of: try planned("upload", input, .whole))?()?.message
            if let message {
                #expect(told?.contains(message) == true, "\(told ?? "taken")")
            } else {
                #expect(told == nil)
            }
        }
    }

    @Test(arguments: [
        ("unfurl", #"{"url":"https://user:pw@example.org/a b?c=d#e"}"#), ("unfurl", "{}"),
        ("greet", #"{"url":"ftp://x"}"#),
        ("upload", #"{"to":"http://example.org/x","file":"/srv/out/x"}"#),
        ("upload", #"{"to":"http://example.org/x","file":"spool:m1-2-3/x.jpg"}"#),
        ("upload", #"{"to":"https://S3.example.org:443/x","body":"x","credential":"storage"}"#),
        ("upload", #"{"to":"https://s3.example.org/x","body":"","protocol":"s3","credential":"storage"}"#),
    ])
    func whatMayWorkIsNot(kind: String, input: String) throws {
        #expect(try refusal(planned(kind, input, .whole)) == nil)
    }

    /// A field counts as missing only when nobody can supply it any more.
    @Test func whatMayStillComeIsNotMissed() throws {
        let open = #"{"to":"http://example.org/"}"#
        #expect(try refusal(planned("upload", open, .waiting)) == nil)
        let unsigned = #"{"protocol":"s3"}"#
        #expect(try refusal(planned("upload", unsigned, .definition)) == nil)
        #expect(
            try refusal(planned("upload", #"{"to":"http://h/","protocol":"s3"}"#, .waiting)) != nil)
        #expect(try refusal(planned("upload", #"{"headers":{"host":"a"}}"#, .definition)) != nil)
    }

    @Test func aFileThatIsNoneIsRefusedAndOneThatIsNotThereYetIsNot() async throws {
        let folder = try TemporaryFolder()
        try Data("x".utf8).write(to: URL(filePath: folder.path + "/file"))
        #expect(mkdir(folder.path + "/folder", 0o700) == 0)
        #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
        #expect(symlink(folder.path + "/file", folder.path + "/link") == 0)
        let upload = upload(root: folder.path)
        func problem(_ name: String) throws -> String? {
            let input = #"{"to":"http://example.org/","file":"\#(folder.path)/\#(name)"}"#
            return upload.blockingCheck(of: try planned("upload", input, .whole))?()?.message
        }
        #expect(try problem("file") == nil)
        #expect(try problem("later") == nil)
        #expect(try problem("folder/later") == nil)
        #expect(try problem("folder")?.contains("with: halyard upload \(folder.path)/folder") == true)
        #expect(try problem("pipe")?.contains("is not a regular file") == true)
        #expect(try problem("link")?.contains("symbolic link") == true)
    }

    /// Only the daemon knows the state of a file in the spool.
    @Test func aFileOfTheSpoolIsNotLookedAt() throws {
        func isLookedAt(_ name: String, _ stage: PlannedInput.Stage = .whole) throws -> Bool {
            let input = try planned("upload", #"{"to":"http://h/","file":"\#(name)"}"#, stage)
            return upload().blockingCheck(of: input) != nil
        }
        #expect(try !isLookedAt("spool:m1-2-3/x.jpg"))
        #expect(try isLookedAt("/srv/out/x"))
        #expect(try isLookedAt("/srv/out/x", .waiting))
        #expect(try !isLookedAt("/srv/out/x", .definition))
    }
}

/// A folder that is removed when the value is deinitialized.
private final class TemporaryFolder {
    let path = FileManager.default.temporaryDirectory.path + "/halyard-refusals-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    // A leftover folder does not invalidate the test.
    deinit { try? FileManager.default.removeItem(atPath: path) }
}
