import Crypto
import Foundation
import Jobs
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

@Suite struct UploadTests {
    /// Passes `body` a folder with a subfolder `in`, from which files may be sent.
    private func withFolder<T>(_ body: (String) async throws -> T) async throws -> T {
        try await Samples.withFolder { path in
            try FileManager.default.createDirectory(atPath: path + "/in", withIntermediateDirectories: true)
            return try await body(path)
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    @Test func fileArrivesWholeWithItsDigest() async throws {
        let bytes = randomBytes((3 << 20) + 17, seed: 7)
        try await withFolder { folder in
            try write(bytes, to: folder + "/in/photo.jpg")
            try await LoopbackServer.with { _ in
                .respond(201, [("etag", "\"e\""), ("location", "/stored/1")])
            } _: { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder + "/in"]
                    let reported = Mutex<[OperationProgress]>([])
                    let output = try await Upload(client: client, configuration: configuration).run(
                        Upload.Input(
                            file: folder + "/in/photo.jpg", to: server.origin + "/photo.jpg", headers: ["X-A": "b"]),
                        context: OperationContext { progress in reported.withLock { $0.append(progress) } })
                    #expect(output.bytes == Int64(bytes.count))
                    #expect(output.sha256 == SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined())
                    #expect(output.status == 201)
                    #expect(output.etag == "\"e\"")
                    #expect(output.location == server.origin + "/stored/1")
                    let request = try #require(server.requests.first)
                    #expect(request.body == bytes)
                    #expect(request.method == "PUT")
                    #expect(request.header("content-type") == "image/jpeg")
                    #expect(request.header("content-length") == "\(bytes.count)")
                    #expect(request.header("x-a") == "b")
                    #expect(request.header("user-agent") == "Halyard/0.1.0")
                    let counts = reported.withLock { $0.map(\.completed) }
                    #expect(counts == counts.sorted() && counts.last == Int64(bytes.count))
                }
            }
        }
    }

    @Test func outputOfADependencyIsSentAsJSON() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient { client in
                var input = Upload.Input(to: server.origin + "/x", method: .post)
                Upload.accept(AnyOutput(json: #"{"a":1}"#), into: &input)
                let output = try await Upload(client: client).run(input, context: OperationContext())
                #expect(output.bytes == 7)
                #expect(server.requests.first?.header("content-type") == "application/json")
                let digest = Data(SHA256.hash(data: Array(#"{"a":1}"#.utf8))).base64EncodedString()
                #expect(server.requests.first?.header("repr-digest") == "sha-256=:\(digest):")
                #expect(server.requests.first?.body == Array(#"{"a":1}"#.utf8))
            }
        }
    }

    @Test func onlyRegularFilesBeneathTheRootsAreOpened() async throws {
        try await withFolder { folder in
            try write([1], to: folder + "/secret")
            try write([1], to: folder + "/in/plain")
            let manager = FileManager.default
            try manager.createSymbolicLink(atPath: folder + "/in/link", withDestinationPath: "plain")
            // Names as the spool creates them: of a link, of a file, and of a file that is being written.
            try manager.createSymbolicLink(atPath: folder + "/in/m1-2-4", withDestinationPath: "plain")
            for name in ["m1-2-3", "m1-2-5.part"] { try write([1], to: "\(folder)/in/\(name)") }
            try manager.createSymbolicLink(atPath: folder + "/in/out", withDestinationPath: folder)
            try manager.createDirectory(atPath: folder + "/in/dir", withIntermediateDirectories: true)
            #expect(mkfifo(folder + "/in/fifo", 0o600) == 0)
            var configuration = UploadConfiguration()
            configuration.roots = [folder + "/in"]
            configuration.spool = folder + "/in"
            for (file, code) in [
                (folder + "/secret", "file_refused"), (folder + "/in/../secret", "file_refused"),
                (folder + "/in/link", "file_refused"), (folder + "/in/out/secret", "file_refused"),
                (folder + "/in/dir", "file_refused"), (folder + "/in/fifo", "file_refused"),
                (folder + "/in/none", "file_not_found"), ("in/plain", "invalid_input"),
                (folder + "/inside", "file_refused"),
                ("spool:../secret", "invalid_input"), ("spool:", "invalid_input"), ("spool:plain", "invalid_input"),
                ("spool:m1-2-4", "file_refused"), ("spool:m1-2-5.part", "invalid_input"),
                ("spool:m1-2-6", "file_not_found"),
                ("/proc/self/environ", "file_refused"), (folder + "/in/plain\0x", "invalid_input"),
            ] {
                let failure = await failure { () async throws(KindFailure) in try configuration.open(file) }
                #expect(failure?.code == code, "\(file)")
            }
            for file in [folder + "/in/../in/plain", folder + "/elsewhere/../in/plain"] {
                let failure = await failure { () async throws(KindFailure) in try configuration.open(file) }
                #expect(failure?.message.contains(#"contains "..", which is not allowed"#) == true, "\(file)")
            }
            #expect(try configuration.open(folder + "/in/plain").size == 1)
            #expect(try configuration.open("spool:m1-2-3").size == 1)
        }
    }

    @Test func fileThatChangesWhileItIsSentIsNoticed() async throws {
        try await withFolder { folder in
            let path = folder + "/in/f"
            try write(Array(repeating: 1, count: 1000), to: path)
            try await LoopbackServer.with { _ in
                // The body has arrived; the file now grows before the response is sent.
                try? Data(repeating: 2, count: 2000).write(to: URL(fileURLWithPath: path), options: [])
                return .respond(200)
            } _: { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder + "/in"]
                    let upload = Upload(client: client, configuration: configuration)
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(Upload.Input(file: path, to: server.origin), context: OperationContext())
                    }
                    #expect(failure?.code == "source_changed")
                    #expect(failure?.isRetryable == true)
                }
            }
        }
    }

    /// A server that received all bytes would store a mixture of old and new content.
    @Test func fileThatChangesWhileItIsReadIsNeverSentWhole() async throws {
        try await withFolder { folder in
            let path = folder + "/in/f"
            try write(randomBytes(3 << 20, seed: 8), to: path)
            try await LoopbackServer.with { _ in
                .respond(200)
            } greeting: { _ in
                // The size stays the same, but the file is written to after it was opened.
                let file = open(path, O_WRONLY)
                defer { close(file) }
                return pwrite(file, [0], 1, 3 << 20 - 1) == 1 ? .proceed : .close
            } _: { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder + "/in"]
                    let upload = Upload(client: client, configuration: configuration)
                    let failure = await failure { () async throws(KindFailure) in
                        try await upload.run(Upload.Input(file: path, to: server.origin), context: OperationContext())
                    }
                    #expect(failure?.code == "source_changed")
                    #expect(server.connections == 1 && server.requests.isEmpty)
                }
            }
        }
    }

    @Test(
        arguments: [
            (401, "unauthorized", false), (403, "unauthorized", false), (404, "http_status", false),
            (408, "http_status", true),
            (409, "http_status", false), (425, "http_status", true), (429, "http_status", true),
            (500, "http_status", true),
            (501, "http_status", false), (502, "http_status", true), (503, "http_status", true),
            (504, "http_status", true),
            (302, "redirect_refused", false), (304, "redirect_refused", false),
        ])
    func statusDecidesWhetherARetryMayHelp(status: Int, code: String, isRetryable: Bool) async throws {
        try await LoopbackServer.with { _ in
            .respond(status, [("location", "/x")])
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin, body: "x"), context: OperationContext())
                }
                #expect(failure?.code == code)
                #expect(failure?.isRetryable == isRetryable)
                #expect(failure?.status == status)
            }
        }
    }

    /// A signature that is no longer accepted cannot become valid again: a user must create a new one.
    @Test(
        arguments: [
            (
                "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-Signature=canary",
                true
            ),
            ("AWSAccessKeyId=A&Expires=1&Signature=canary", true), ("se=2026-01-01&sig=canary", true),
            ("X-Goog-Signature=canary", true), ("design=1&bigsig=2", false), ("a=b", false),
        ], [401, 403])
    func presignedAddressThatIsNotTakenHasExpired(query: (String, Bool), status: Int) async throws {
        try await LoopbackServer.with { _ in
            .respond(status)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin + "/b/k?" + query.0, body: "x"), context: OperationContext())
                }
                #expect(failure?.code == (query.1 ? "url_expired" : "unauthorized"))
                #expect(failure?.isRetryable == false && failure?.message.contains("canary") == false)
                #expect(server.requests.first?.target.hasSuffix(query.0) == true)
            }
        }
    }

    @Test func redirectThatKeepsTheMethodIsFollowedOnTheSameServerOnly() async throws {
        try await LoopbackServer.with { request in
            switch request.path {
            case "/a": .redirect(307, to: "/b")
            case "/away": .redirect(308, to: "http://127.0.0.1:1/")
            default: .respond(204)
            }
        } _: { server in
            try await withClient { client in
                let upload = Upload(client: client)
                let output = try await upload.run(
                    Upload.Input(to: server.origin + "/a", body: "again"), context: OperationContext())
                #expect(output.status == 204)
                #expect(server.requests.map(\.body) == [Array("again".utf8), Array("again".utf8)])
                let failure = await failure { () async throws(KindFailure) in
                    try await upload.run(
                        Upload.Input(to: server.origin + "/away", body: "x"), context: OperationContext())
                }
                #expect(failure?.code == "redirect_refused")
            }
        }
    }

    @Test(
        arguments: [
            ("user:pass word", "user:pass word"), ("user:canary", "Basic dXNlcjpjYW5hcnk="),
            ("canary", "Bearer canary"),
            ("Bearer canary", "Bearer canary"),
        ])
    func credentialIsSentAndNeverShown(secret: String, header: String) async throws {
        try await LoopbackServer.with { _ in
            .respond(403, [], Array("canary".utf8))
        } _: { server in
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.credentials = { name throws(KindFailure) in name == "store" ? secret : nil }
                configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
                let upload = Upload(client: client, configuration: configuration)
                let failure = await failure { () async throws(KindFailure) in
                    try await upload.run(
                        Upload.Input(to: server.origin + "/?sig=canary", credential: "store", body: "x"),
                        context: OperationContext())
                }
                #expect(server.requests.first?.header("authorization") == header)
                #expect(failure?.code == "url_expired")
                let stored = String(decoding: try JSONEncoder().encode(failure), as: UTF8.self)
                #expect(!stored.contains("canary"))
            }
        }
    }

    @Test(
        arguments: [
            ["Content-Length": "1"], ["host": "x"], ["Authorization": "x"], ["Cookie": "x"], ["a b": "x"],
            ["a": "x\r\ny: z"],
            ["Transfer-Encoding": "chunked"],
        ])
    func headersThatAreNotTheUsersAreRefused(headers: [String: String]) async throws {
        try await withClient { client in
            let failure = await failure { () async throws(KindFailure) in
                try await Upload(client: client).run(
                    Upload.Input(to: "http://127.0.0.1:1/", headers: headers, body: "x"), context: OperationContext())
            }
            #expect(failure?.code == "invalid_input")
        }
    }

    @Test func digestThatTheServerNamesIsCompared() async throws {
        let right = Data(SHA256.hash(data: Array("x".utf8))).base64EncodedString()
        let wrong = Data(SHA256.hash(data: Array("y".utf8))).base64EncodedString()
        for (header, value, isMatch) in [
            ("repr-digest", "sha-256=:\(right):", true), ("x-amz-checksum-sha256", right, true),
            ("repr-digest", "sha-256=:\(wrong):", false), ("x-amz-checksum-sha256", wrong, false),
        ] as [(String, String, Bool)] {
            try await LoopbackServer.with { _ in
                .respond(200, [(header, value)])
            } _: { server in
                try await withClient { client in
                    let upload = Upload(client: client)
                    let input = Upload.Input(to: server.origin, body: "x")
                    if isMatch {
                        let output = try await upload.run(input, context: OperationContext())
                        #expect(output.isChecksumConfirmed)
                    } else {
                        let failure = await failure { () async throws(KindFailure) in
                            try await upload.run(input, context: OperationContext())
                        }
                        #expect(failure?.code == "checksum_mismatch")
                    }
                }
            }
        }
    }

    /// The digest belongs to the server's response page, not to the uploaded file.
    @Test func digestOfTheAnswersOwnPageIsNotThatOfTheFile() async throws {
        let page = Array("stored".utf8)
        let digest = Data(SHA256.hash(data: page)).base64EncodedString()
        try await LoopbackServer.with { _ in
            .respond(200, [("repr-digest", "sha-256=:\(digest):")], page)
        } _: { server in
            try await withClient { client in
                let output = try await Upload(client: client).run(
                    Upload.Input(to: server.origin, method: .post, body: "x"), context: OperationContext())
                #expect(!output.isChecksumConfirmed)
            }
        }
    }

    /// A server that does not need the body may respond before the client has read it.
    @Test func successIsFasterThanASmallBody() async throws {
        try await withFolder { folder in
            let bytes = randomBytes(300_000, seed: 9)
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/f"))
            // The server responds to the head, before the client has read any of the body.
            try await LoopbackServer.with(
                { _ in .silence }, greeting: { _ in .respond(200) }, isEager: true
            ) { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    // The bandwidth limit makes the response arrive before the body is sent.
                    configuration.maxBytesPerSecond = 1_000_000
                    let output = try await Upload(client: client, configuration: configuration).run(
                        Upload.Input(file: folder + "/f", to: server.origin, method: .post),
                        context: OperationContext())
                    #expect(output.sha256 == SHA256.hash(data: bytes).hexadecimal)
                }
            }
        }
    }

    /// A large body was not received completely before the response, so the server's copy is unknown.
    @Test func successBeforeTheBodyIsNone() async throws {
        try await LoopbackServer.with { _ in
            .respond(201)
        } greeting: { _ in
            .respond(201)
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Upload(client: client).run(
                        Upload.Input(to: server.origin, body: String(repeating: "x", count: 64 << 20)),
                        context: OperationContext())
                }
                #expect(failure?.code == "connection_lost")
                #expect(failure?.isRetryable == true)
            }
        }
    }

    @Test func fileOfAFarFutureIsSent() async throws {
        try await withFolder { folder in
            let file = folder + "/f"
            try Data("x".utf8).write(to: URL(fileURLWithPath: file))
            // The year 2300 exceeds the range of nanoseconds in 64 bits.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 10_413_792_000)], ofItemAtPath: file)
            try await LoopbackServer.with { _ in
                .respond(201)
            } _: { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    let output = try await Upload(client: client, configuration: configuration).run(
                        Upload.Input(file: file, to: server.origin), context: OperationContext())
                    #expect(output.bytes == 1)
                }
            }
        }
    }
}
