import Crypto
import Foundation
import Jobs
import NIOCore
import NIOHTTP1
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Kinds
@testable import Web

@Suite struct S3SignatureTests {
    private let signature = S3Signature(
        secret: "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")

    /// The examples of the S3 manual ("Authenticating Requests: Using the Authorization Header").
    @Test func examplesOfTheManualAreSignedAlike() throws {
        let signature = try #require(signature)
        let get = signature.sign(
            .GET, try WebURL(parsing: "https://examplebucket.s3.amazonaws.com/test.txt"),
            headers: ["range": "bytes=0-9"],
            payload: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", moment: "20130524T000000Z")
        #expect(
            get["authorization"].first?.hasSuffix(
                "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41") == true)
        let put = signature.sign(
            .PUT, try WebURL(parsing: "https://examplebucket.s3.amazonaws.com/test$file.text"),
            headers: ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
            payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072", moment: "20130524T000000Z")
        #expect(
            put["authorization"].first?.hasSuffix(
                "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd") == true)
        let list = signature.sign(
            .GET, try WebURL(parsing: "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J"), headers: [:],
            payload: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", moment: "20130524T000000Z")
        #expect(
            list["authorization"].first?.hasSuffix(
                "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") == true)
    }

    @Test func momentIsWrittenAsTheSignatureWantsIt() {
        #expect(S3Signature.moment(secondsSince1970: 1_369_353_600) == "20130524T000000Z")
        #expect(S3Signature.moment(secondsSince1970: 951_825_599) == "20000229T115959Z")
    }

    @Test func answersAreReadOutOfTheirXML() {
        let body = Array(
            """
            <?xml version="1.0"?><ListPartsResult><UploadId>a&amp;b</UploadId><IsTruncated>false</IsTruncated>
            <Part><PartNumber>1</PartNumber><ETag>&quot;e1&quot;</ETag><Size>5</Size></Part>
            <Part><Size>6</Size><ETag>"e2"</ETag><PartNumber>2</PartNumber></Part></ListPartsResult>
            """.utf8)
        #expect(S3Answer.text("UploadId", in: body) == "a&b")
        #expect(
            S3Answer.parts(in: body) == [
                S3Answer.Part(number: 1, etag: "e1", bytes: 5), S3Answer.Part(number: 2, etag: "e2", bytes: 6),
            ])
    }
}

@Suite(
    .enabled(if: Program.find("moto_server") != nil, "moto_server is not in PATH (PyPI: moto[s3,server])"), .serialized)
struct S3UploadTests {
    private func withStore<T>(
        isInOrder: Bool = false,
        _ body: (_ endpoint: String, OutgoingClient, Upload, _ folder: String) async throws -> T
    ) async throws -> T {
        let program = try #require(Program.find("moto_server"))
        return try await withFolder { folder in
            try await Program.with(program, ["-H", "127.0.0.1", "-p", "0"], until: "Press CTRL+C") { moto in
                let endpoint = moto.address(after: "Running on ")
                return try await withClient { client in
                    let bucket = try WebURL(parsing: endpoint + "/bucket")
                    try await client.exchange(OutgoingRequest(method: .PUT, url: bucket)) {
                        response throws(KindFailure) in
                        #expect(response.status == 200)
                    }
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    configuration.checkpoints = folder
                    configuration.partBytes = 5 << 20
                    // Sends one part at a time.
                    if isInOrder { configuration.chunkBytes = 5 << 20 }
                    configuration.credentials = { _ throws(KindFailure) in "AKIDEXAMPLE:secret" }
                    configuration.credentialOrigins = [CredentialOrigin("store=\(endpoint)")].compactMap(\.self)
                    return try await body(
                        endpoint, client, Upload(client: client, configuration: configuration), folder)
                }
            }
        }
    }

    private func write(_ count: Int, to path: String) throws -> [UInt8] {
        let bytes = randomBytes(count, seed: UInt64(count))
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return bytes
    }

    private func stored(_ url: String, _ client: OutgoingClient) async throws -> [UInt8] {
        let url = try WebURL(parsing: url)
        let signature = try #require(S3Signature(secret: "AKIDEXAMPLE:secret", region: "us-east-1"))
        let headers = signature.sign(
            .GET, url, headers: [:], payload: SHA256.hash(data: Data()).hexadecimal,
            moment: S3Signature.moment(secondsSince1970: Int64(Date().timeIntervalSince1970)))
        return try await client.exchange(OutgoingRequest(method: .GET, url: url, headers: headers)) {
            response throws(KindFailure) in
            try await response.readDecoded(upTo: 1 << 30, received: 1 << 30).bytes
        }
    }

    @Test func smallAndLargeFilesAreStoredWhole() async throws {
        try await withStore { endpoint, client, upload, folder in
            for (name, count) in [("small key+1", 1000), ("large", (13 << 20) + 5)] {
                let bytes = try write(count, to: folder + "/file")
                let url = endpoint + "/bucket/a/" + name.replacing(" ", with: "%20").replacing("+", with: "%2B")
                let output = try await upload.run(
                    Upload.Input(file: folder + "/file", to: url, style: .s3, credential: "store"),
                    job: JobContext(
                        lease: Lease(job: JobID(1), attempt: 1), operation: OperationContext(), onEnqueue: { _ in }))
                #expect(output.sha256 == SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined())
                let back = try await stored(url, client)
                #expect(back.elementsEqual(bytes))
                #expect(output.etag?.contains("-3") == (count > 10 << 20))
            }
        }
    }

    /// The first run stops after some parts and leaves a checkpoint; the next one sends only the missing parts.
    @Test func interruptedMultipartGoesOn() async throws {
        try await withStore { endpoint, client, upload, folder in
            let bytes = try write((23 << 20) + 5, to: folder + "/file")
            let input = Upload.Input(
                file: folder + "/file", to: endpoint + "/bucket/resumed", style: .s3, credential: "store")
            let reached = Signal()
            let first = Task {
                let context = OperationContext { if $0.completed >= 11 << 20 { reached.open() } }
                return await failure { () async throws(KindFailure) in
                    try await upload.run(
                        input,
                        job: JobContext(
                            lease: Lease(job: JobID(2), attempt: 1), operation: context, onEnqueue: { _ in }))
                }
            }
            await reached.wait()
            first.cancel()
            #expect(await first.value?.code == "cancelled")
            let checkpoint = CheckpointFile(folder: folder, job: JobID(2))
            let saved = try #require(checkpoint.load())
            #expect(saved.parts.count >= 2)
            let lowest = Lowest()
            let context = OperationContext { progress in lowest.value.withLock { $0 = min($0, progress.completed) } }
            let output = try await upload.run(
                input, job: JobContext(lease: Lease(job: JobID(2), attempt: 2), operation: context, onEnqueue: { _ in })
            )
            let back = try await stored(endpoint + "/bucket/resumed", client)
            #expect(back.elementsEqual(bytes))
            #expect(output.bytes == Int64(bytes.count))
            #expect(lowest.value.withLock { $0 } >= saved.offset)
            #expect(checkpoint.load()?.receipt?.output == output)
        }
    }

    /// The upload resumes the digest of the checkpoint and does not read the stored bytes again: a forged digest
    /// appears in the result.
    @Test func digestGoesOnFromTheCheckpoint() async throws {
        try await withStore(isInOrder: true) { endpoint, _, upload, folder in
            let bytes = try write((23 << 20) + 5, to: folder + "/file")
            let input = Upload.Input(
                file: folder + "/file", to: endpoint + "/bucket/digest", style: .s3, credential: "store")
            let reached = Signal()
            func job(_ context: OperationContext) -> JobContext {
                JobContext(lease: Lease(job: JobID(4), attempt: 1), operation: context, onEnqueue: { _ in })
            }
            let first = Task {
                let context = OperationContext { if $0.completed >= 11 << 20 { reached.open() } }
                return await failure { () async throws(KindFailure) in try await upload.run(input, job: job(context)) }
            }
            await reached.wait()
            first.cancel()
            #expect(await first.value?.code == "cancelled")
            let checkpoint = CheckpointFile(folder: folder, job: JobID(4))
            var saved = try #require(checkpoint.load())
            let known = Int(try #require(saved.digest).count)
            // The digest covers whole parts, or everything if the cancellation came after the last part.
            #expect(known > 0 && (known % (5 << 20) == 0 || known == bytes.count))
            var other = RunningDigest()
            other.update(data: repeatElement(7, count: known))
            saved.digest = other
            try checkpoint.save(saved)
            let output = try await upload.run(input, job: job(OperationContext()))
            #expect(
                output.sha256
                    == SHA256.hash(data: [UInt8](repeating: 7, count: known) + bytes[known...]).hexadecimal)
            #expect(output.sends < 5)
        }
    }

    @Test func checksumsAreConfirmedByTheStore() async throws {
        try await withStore { endpoint, _, upload, folder in
            for count in [1000, (11 << 20) + 5] {
                _ = try write(count, to: folder + "/file")
                let output = try await upload.result(
                    Upload.Input(
                        file: folder + "/file", to: endpoint + "/bucket/checked", style: .s3, credential: "store"))
                #expect(output.isChecksumConfirmed)
            }
        }
    }

    @Test func partsOfACancelledJobAreAborted() async throws {
        try await withStore { endpoint, client, upload, folder in
            _ = try write((23 << 20) + 5, to: folder + "/file")
            let input = Upload.Input(
                file: folder + "/file", to: endpoint + "/bucket/dropped", style: .s3, credential: "store")
            let reached = Signal()
            let first = Task {
                let context = OperationContext { if $0.completed >= 5 << 20 { reached.open() } }
                return await failure { () async throws(KindFailure) in
                    try await upload.run(
                        input,
                        job: JobContext(
                            lease: Lease(job: JobID(3), attempt: 1), operation: context, isStoppedForGood: { true },
                            onEnqueue: { _ in }))
                }
            }
            await reached.wait()
            first.cancel()
            #expect(await first.value?.code == "cancelled")
            let list = String(decoding: try await stored(endpoint + "/bucket?uploads", client), as: UTF8.self)
            #expect(list.contains("ListMultipartUploadsResult"))
            #expect(!list.contains("<Upload>"))
            #expect(CheckpointFile(folder: folder, job: JobID(3)).load() == nil)
        }
    }

    /// The bucket's name is in the host and in the signature, but not in the path (`https://BUCKET.HOST/KEY`).
    @Test(arguments: [1000, (11 << 20) + 5]) func bucketInTheHostNameIsServedAlike(count: Int) async throws {
        try await withStore { endpoint, client, upload, folder in
            let bytes = try write(count, to: folder + "/file")
            let there = OutgoingClient(loopbackConfiguration()) { name in
                name == "bucket.s3.example.org" ? .success([.v4(0x7f00_0001)]) : .failure(.noSuchName)
            }
            let origin = endpoint.replacing("127.0.0.1", with: "bucket.s3.example.org")
            var configuration = upload.configuration
            configuration.credentialOrigins = [CredentialOrigin("store=\(origin)")].compactMap(\.self)
            let virtual = Upload(client: there, configuration: configuration)
            let output = try await virtual.result(
                Upload.Input(
                    file: folder + "/file", to: origin + "/folder/key%20%2B", style: .s3, credential: "store"))
            await there.shutdown()
            #expect(output.isChecksumConfirmed)
            let back = try await stored(endpoint + "/bucket/folder/key%20%2B", client)
            #expect(back.elementsEqual(bytes))
        }
    }

    /// An earlier attempt may have succeeded although its response was lost; the existing object shows this, and no
    /// unfinished upload stays behind.
    @Test(arguments: [1000, (11 << 20) + 5]) func createOnlyIsSettledByWhatIsThere(count: Int) async throws {
        try await withStore { endpoint, client, upload, folder in
            let input = Upload.Input(
                file: folder + "/file", to: endpoint + "/bucket/once", style: .s3, credential: "store",
                createOnly: true)
            let bytes = try write(count, to: folder + "/file")
            let first = try await upload.result(input)
            let again = try await upload.run(input, context: OperationContext(attempt: 2))
            #expect(again.etag?.unquoted == first.etag?.unquoted)
            let late = await failure { () async throws(KindFailure) in
                try await upload.run(input, context: OperationContext(attempt: 1))
            }
            #expect(late?.code == "already_exists")
            _ = try write(count + 1, to: folder + "/file")
            let other = await failure { () async throws(KindFailure) in
                try await upload.run(input, context: OperationContext(attempt: 2))
            }
            #expect(other?.code == "already_exists")
            let back = try await stored(endpoint + "/bucket/once", client)
            #expect(back.elementsEqual(bytes))
            let list = String(decoding: try await stored(endpoint + "/bucket?uploads", client), as: UTF8.self)
            #expect(list.contains("ListMultipartUploadsResult") && !list.contains("<Upload>"))
        }
    }

    private final class Lowest: Sendable {
        let value = Mutex(Int64.max)
    }

    @Test func refusalNamesTheCodeOfTheStore() async throws {
        try await withStore { endpoint, _, upload, _ in
            let failure = await failure { () async throws(KindFailure) in
                try await upload.run(
                    Upload.Input(to: endpoint + "/no-such-bucket/x", style: .s3, credential: "store", body: "x"),
                    context: OperationContext())
            }
            #expect(failure?.status == 404)
            #expect(failure?.message.contains("NoSuchBucket") == true)
            #expect(failure?.isRetryable == false)
        }
    }

    /// The store verifies signatures with its own implementation and admits only the new user.
    @Test func storeThatChecksEachSignatureTakesThem() async throws {
        try await withStore { endpoint, client, upload, folder in
            let keys = try await user(at: endpoint, client)
            var configuration = upload.configuration
            configuration.credentials = { _ throws(KindFailure) in keys }
            let signed = Upload(client: client, configuration: configuration)
            for count in [1000, (11 << 20) + 5] {
                _ = try write(count, to: folder + "/file")
                let input = Upload.Input(
                    file: folder + "/file", to: endpoint + "/bucket/signed-\(count)", style: .s3, credential: "store")
                #expect(try await signed.result(input).isChecksumConfirmed)
                let stranger = await failure { () async throws(KindFailure) in
                    try await upload.run(input, context: OperationContext())
                }
                #expect(stranger?.code == "unauthorized")
                configuration.credentials = { _ throws(KindFailure) in keys + "x" }
                let forger = Upload(client: client, configuration: configuration)
                let forged = await failure { () async throws(KindFailure) in
                    try await forger.run(input, context: OperationContext())
                }
                #expect(forged?.code == "unauthorized")
            }
            // A multipart upload is created, listed, resumed and deleted.
            _ = try write((23 << 20) + 5, to: folder + "/file")
            let input = Upload.Input(
                file: folder + "/file", to: endpoint + "/bucket/resumed", style: .s3, credential: "store")
            for (attempt, isLast) in [(1, false), (2, true)] {
                let reached = Signal()
                let run = Task {
                    let context = OperationContext(attempt: attempt) {
                        if $0.completed >= Int64(attempt) * 6 << 20 { reached.open() }
                    }
                    return await failure { () async throws(KindFailure) in
                        try await signed.run(
                            input,
                            job: JobContext(
                                lease: Lease(job: JobID(5), attempt: attempt), operation: context,
                                isStoppedForGood: { isLast }, onEnqueue: { _ in }))
                    }
                }
                await reached.wait()
                run.cancel()
                #expect(await run.value?.code == "cancelled")
                // The checkpoint stays unless the upload was deleted.
                #expect((CheckpointFile(folder: folder, job: JobID(5)).load() == nil) == isLast)
            }
        }
    }

    /// Creates a user with all permissions and makes the store refuse everyone else.
    private func user(at endpoint: String, _ client: OutgoingClient) async throws -> String {
        func post(_ path: String, _ body: String, signing: Bool = true) async throws -> [UInt8] {
            let url = try WebURL(parsing: endpoint + path)
            var headers: HTTPHeaders = ["content-type": "application/x-www-form-urlencoded"]
            if !signing { headers = ["content-type": "text/plain"] }
            if signing {
                var signature = try #require(S3Signature(secret: "AKIDEXAMPLE:secret", region: "us-east-1"))
                signature.service = "iam"
                headers = signature.sign(
                    .POST, url, headers: headers, payload: SHA256.hash(data: Array(body.utf8)).hexadecimal)
            }
            let request = OutgoingRequest(
                method: .POST, url: url, headers: headers, body: .bytes(ByteBuffer(string: body)))
            return try await client.exchange(request) { response throws(KindFailure) in
                #expect(response.status == 200)
                return try await response.readDecoded(upTo: 1 << 20, received: 1 << 20).bytes
            }
        }
        _ = try await post("/", "Action=CreateUser&Version=2010-05-08&UserName=u")
        let made = try await post("/", "Action=CreateAccessKey&Version=2010-05-08&UserName=u")
        let policy =
            "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C"
            + "%22Action%22%3A%22s3%3A%2A%22%2C%22Resource%22%3A%22%2A%22%7D%5D%7D"
        _ = try await post(
            "/", "Action=PutUserPolicy&Version=2010-05-08&UserName=u&PolicyName=p&PolicyDocument=\(policy)")
        _ = try await post("/moto-api/reset-auth", "0", signing: false)
        let key = try #require(S3Answer.text("AccessKeyId", in: made))
        return "\(key):\(try #require(S3Answer.text("SecretAccessKey", in: made)))"
    }
}
