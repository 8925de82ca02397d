import Crypto
import Foundation
import OperationTypes
import Programs
import Samples
import Servers
import Testing
import Web

@testable import Kinds

@Suite(.enabled(if: Nginx.isInstalled, "nginx is not installed (Debian: nginx, libnginx-mod-http-dav-ext)"))
struct UploadToNginxTests {
    @Test func fileIsStoredByteForByte() async throws {
        try await Nginx.with { nginx in
            let source = nginx.folder + "/source"
            try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
            let bytes = randomBytes((5 << 20) + 3, seed: 11)
            try Data(bytes).write(to: URL(fileURLWithPath: source + "/data.bin"))
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.roots = [source]
                let upload = Upload(client: client, configuration: configuration)
                let input = Upload.Input(file: source + "/data.bin", to: nginx.origin + "/deep/er/data.bin")
                let first = try await upload.result(input)
                #expect(first.status == 201)
                let stored = try Data(contentsOf: URL(fileURLWithPath: nginx.files + "/deep/er/data.bin"))
                #expect(stored == Data(bytes))
                let second = try await upload.result(input)
                #expect(second.status == 204)
                let empty = Upload.Input(to: nginx.origin + "/empty", body: "")
                let third = try await upload.result(empty)
                #expect(third.bytes == 0)
                let nothing = try Data(contentsOf: URL(fileURLWithPath: nginx.files + "/empty"))
                #expect(nothing.isEmpty)
            }
        }
    }

    /// nginx responds with 403 as soon as it has read the request's head and does not read the body.
    @Test func earlyRefusalEndsTheSending() async throws {
        try await Nginx.with { nginx in
            let source = nginx.folder + "/source"
            try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: true)
            #expect(FileManager.default.createFile(atPath: source + "/big", contents: nil))
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: source + "/big"))
            try file.truncate(atOffset: 8 << 30)
            try file.close()
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.roots = [source]
                let upload = Upload(client: client, configuration: configuration)
                let failure = await failure { () async throws(KindFailure) in
                    try await upload.run(
                        Upload.Input(file: source + "/big", to: nginx.origin + "/readonly/big"),
                        context: OperationContext())
                }
                // The client waits for 100 before it sends the body, so a broken connection cannot lose the response.
                #expect(failure?.code == "unauthorized")
                #expect(failure?.status == 403)
            }
        }
    }

    @Test func certificateAndNameAreChecked() async throws {
        try await Nginx.with { nginx in
            var trusting = loopbackConfiguration()
            trusting.certificateFile = nginx.certificate
            for (configuration, host, code) in [
                (loopbackConfiguration(), "localhost", "tls_self_signed"), (trusting, "127.0.0.1", "tls_wrong_host"),
                (trusting, "localhost", nil),
            ] {
                try await withClient(configuration) { client in
                    let input = Upload.Input(to: "https://\(host):\(nginx.tlsPort)/x", body: "x")
                    if let code {
                        let failure = await failure { () async throws(KindFailure) in
                            try await Upload(client: client).run(input, context: OperationContext())
                        }
                        #expect(failure?.code == code)
                    } else {
                        let output = try await Upload(client: client).result(input)
                        #expect(output.status == 201)
                    }
                }
            }
        }
    }

    @Test func hostThatAskedForItIsReachedByHTTPSFromThenOn() async throws {
        try await Nginx.with { nginx in
            var configuration = loopbackConfiguration()
            configuration.certificateFile = nginx.certificate
            try await withClient(configuration) { client in
                let unfurl = Unfurl(client: client)
                let strict = Unfurl.Input(url: "https://localhost:\(nginx.tlsPort)/strict")
                _ = try await unfurl.run(strict, context: OperationContext())
                let output = try await unfurl.run(
                    Unfurl.Input(url: "http://localhost:\(nginx.tlsPort)/host"), context: OperationContext())
                #expect(output.finalURL == "https://localhost:\(nginx.tlsPort)/host")
                #expect(output.hops.first?.via == .strictTransport)
                #expect(output.hops.first?.status == nil)
            }
        }
    }
}
