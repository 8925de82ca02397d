import Foundation
import Jobs
import Servers
import Testing
import Web
import WebSyntax

@testable import Kinds

/// The properties of kinds that the command line and the definitions rely on.
@Suite struct KindContractTests {
    private func names(_ value: some Encodable) throws -> Set<String> {
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any]
        return Set(object.map(\.keys).map(Array.init) ?? [])
    }

    @Test func everyFieldOfEveryInputIsListed() throws {
        let upload = Upload.Input(
            file: "f", to: "t", style: .s3, method: .put, contentType: "c", credential: "c",
            credentialHeader: "h", credentialPrefix: "p", headers: [:], createOnly: true, formField: "f",
            formFields: [],
            region: "r", maxRate: ByteSize(1), timeout: .seconds(1), sha256: "s", body: "b")
        #expect(try names(upload) == Set(Upload.inputFields.map(\.name)))
        let unfurl = Unfurl.Input(url: "u", maxRedirects: 1, readPage: true, timeout: .seconds(1))
        #expect(try names(unfurl) == Set(Unfurl.inputFields.map(\.name)))
        let enrich = Enrich.Input(
            url: "u", maxSize: ByteSize(1), maxRedirects: 1, timeout: .seconds(1), etag: "e", lastModified: "l",
            measuresImage: false)
        #expect(try names(enrich) == Set(Enrich.inputFields.map(\.name)))
    }

    @Test func requiredFieldsAreThoseWithoutWhichAnInputCannotBeRead() throws {
        let decoder = JSONDecoder()
        #expect(throws: (any Error).self) { try decoder.decode(Upload.Input.self, from: Data("{}".utf8)) }
        #expect(throws: Never.self) { try decoder.decode(Upload.Input.self, from: Data(#"{"to":"http://h/"}"#.utf8)) }
        #expect(throws: Never.self) { try decoder.decode(Unfurl.Input.self, from: Data("{}".utf8)) }
        #expect(throws: Never.self) { try decoder.decode(Enrich.Input.self, from: Data("{}".utf8)) }
        #expect(Upload.inputFields.filter(\.isRequired).map(\.name) == ["to"])
        // A link may also come from a dependency.
        for fields in [Unfurl.inputFields, Enrich.inputFields] {
            #expect(!fields.contains { $0.isRequired && !$0.isFromDependency })
        }
    }

    @Test func explicitInputWinsOverADependency() {
        var unfurl = Unfurl.Input(url: "mine")
        Unfurl.accept(Link(url: "theirs"), into: &unfurl)
        #expect(unfurl.url == "mine")
        var upload = Upload.Input(file: "/f", to: "t")
        Upload.accept(AnyOutput(json: "{}"), into: &upload)
        #expect(upload.body == nil)
        var enrich = Enrich.Input()
        Enrich.accept(Link(url: "theirs"), into: &enrich)
        #expect(enrich.url == "theirs")
    }

    @Test func anUploadSendsTheKeptFileOfADependency() {
        let kept = KeptFile(name: "output", size: 2, sha256: "ab", path: "/files/1")
        var upload = Upload.Input(to: "t")
        Upload.accept(AnyOutput(json: kept.json.string), into: &upload)
        #expect(upload.kept == kept)
        #expect(upload.file == nil)
        #expect(upload.sha256 == "ab")
        #expect(upload.body == nil)
        // Any other object becomes the body.
        var other = Upload.Input(to: "t")
        Upload.accept(AnyOutput(json: #"{"path":"/etc/passwd"}"#), into: &other)
        #expect(other.file == nil)
        #expect(other.body == #"{"path":"/etc/passwd"}"#)
    }

    @Test func failureIsStoredInFlatJSON() throws {
        let failure = KindFailure(
            .httpStatus, "m", isRetryable: true, status: 503, url: try WebURL(parsing: "https://h/p?token=canary"),
            retryAfter: .seconds(2))
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(failure)) as? [String: Any]
        #expect(object?["code"] as? String == "http_status")
        #expect(object?["retry_after_ms"] as? Int == 2000)
        #expect(object?["url"] as? String == "https://h/p?…")
        #expect(try JSONDecoder().decode(KindFailure.self, from: JSONEncoder().encode(failure)) == failure)
    }

    @Test func builtInKindsAreTheThree() async throws {
        try await withClient { client in
            let kinds = builtInKinds(KindsConfiguration(), client: client)
            #expect(kinds.map { type(of: $0).name } == ["upload", "unfurl", "enrich"])
        }
    }
}
