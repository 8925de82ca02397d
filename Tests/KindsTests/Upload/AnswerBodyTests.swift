import Foundation
import Jobs
import OperationTypes
import Servers
import Testing
import Web

@testable import Kinds

/// The body of the response is kept according to its type, up to a limit, and never with the credential.
@Suite struct AnswerBodyTests {
    private static let canary = "canary+0c/54f1=="

    private func output(
        _ type: String?, _ body: [UInt8], headers: [(String, String)] = [], secret: String? = nil,
        style: Upload.Input.Style = .plain
    ) async throws -> Upload.Output {
        try await LoopbackServer.with { _ in
            .respond(201, (type.map { [("content-type", $0)] } ?? []) + headers, body)
        } _: { server in
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.credentials = { _ throws(KindFailure) in secret }
                configuration.credentialOrigins = [CredentialOrigin("store=\(server.origin)")].compactMap(\.self)
                return try await Upload(client: client, configuration: configuration).run(
                    Upload.Input(
                        to: server.origin, style: style, method: .post, credential: secret == nil ? nil : "store",
                        credentialHeader: secret == nil ? nil : "X-Api-Key", body: "x"), context: OperationContext())
            }
        }
    }

    @Test func jsonStaysJSON() async throws {
        let text = #"{"id":9007199254740993,"name":"a\u0000b","tags":["x",null,true]}"#
            .replacing(#"\u0000"#, with: "\\n")
        for type in ["application/json", "application/problem+json; charset=utf-8", nil] {
            let answer = try #require(try await output(type, Array(text.utf8)).answer)
            #expect(answer.json?.canonical.string == text.replacing("\\\\n", with: "\\n"))
            #expect(answer.text == nil && !answer.isTruncated && answer.bytes == Int64(text.utf8.count))
        }
    }

    @Test func resultWithAnAnswerCanBeDecoded() async throws {
        let sent = try await output("application/json", Array(#"{"id":1,"more":[1.5,"two"]}"#.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let back = try JSONDecoder().decode(Upload.Output.self, from: try encoder.encode(sent))
        #expect(back == sent)
    }

    @Test(arguments: [
        ("text/plain", "stored as 7"), ("application/xml", "<R><ETag>e</ETag></R>"),
        ("text/html; charset=utf-8", "<p>\u{e4}"),
        // Labelled JSON but invalid, so it is kept as text.
        ("application/json", "{\"id\":"), ("application/json", "{\"a\":1,\"a\":2}"), ("application/json", "1e999"),
    ])
    func textStaysText(type: String, text: String) async throws {
        let answer = try #require(try await output(type, Array(text.utf8)).answer)
        #expect(answer.text == text && answer.json == nil)
        #expect(answer.contentType == type)
    }

    @Test func jsonTooDeepForAResultIsText() async throws {
        let text = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
        #expect(try await output("application/json", Array(text.utf8)).answer?.text == text)
    }

    @Test(arguments: ["image/png", "application/octet-stream", "text/plain"])
    func whatIsNoTextLeavesTypeAndLength(type: String) async throws {
        let answer = try #require(try await output(type, [0xFF, 0, 0xFE]).answer)
        #expect(answer.contentType == type && answer.bytes == 3)
        #expect(answer.text == nil && answer.json == nil)
    }

    @Test func onlyTheStartOfALongAnswerIsKept() async throws {
        let text = String(repeating: "\u{20ac}", count: 20_000)
        let answer = try #require(try await output("text/plain", Array(text.utf8)).answer)
        #expect(answer.isTruncated && answer.bytes == 60_000)
        // The cut never splits a character.
        #expect(answer.text == String(repeating: "\u{20ac}", count: Upload.Answer.maxBytes / 3))
    }

    @Test func noBodyIsNoAnswer() async throws {
        #expect(try await output("application/json", []).answer == nil)
    }

    @Test(arguments: [
        ("text/plain", "you sent canary+0c/54f1=="),
        ("application/json", #"{"headers":{"X-Api-Key":"canary+0c/54f1=="}}"#),
        ("application/json", #"{"headers":{"X-Api-Key":"canary\u002b0c\/54f1=="}}"#),
        ("application/json", #"{"canary+0c\/54f1==":1}"#),
        ("application/x-www-form-urlencoded", "key=canary%2B0c%2F54f1%3D%3D"),
    ])
    func anAnswerThatRepeatsTheCredentialIsWithheld(type: String, body: String) async throws {
        let answer = try await output(type, Array(body.utf8), secret: Self.canary).answer
        #expect(answer?.isWithheld == true && answer?.text == nil && answer?.json == nil)
    }

    /// The kept part must not end within the secret, because it would contain the secret's beginning.
    @Test func aSecretAtTheCutIsFound() async throws {
        let body = String(repeating: "x", count: Upload.Answer.maxBytes - 5) + Self.canary
        #expect(try await output("text/plain", Array(body.utf8), secret: Self.canary).answer?.isWithheld == true)
    }

    @Test(arguments: ["user:canary-pass", "Bearer canary-pass"])
    func aPartOfTheCredentialIsFoundToo(secret: String) async throws {
        let output = try await output(
            "text/plain", Array("canary-pass".utf8),
            headers: [("etag", "canary-pass"), ("location", "/in?key=canary-pass")], secret: secret)
        #expect(output.answer?.isWithheld == true)
        #expect(output.etag == nil && output.location == nil)
    }
}
