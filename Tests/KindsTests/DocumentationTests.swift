import Foundation
import Jobs
import OperationTypes
import Pages
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// Compiles and runs the examples of the articles.
@Suite struct DocumentationTests {
    @Test func sendingFiles() async throws {
        try await withFolder { folder in
            try Data("sail".utf8).write(to: URL(fileURLWithPath: folder + "/photo.jpg"))
            try await LoopbackServer.with { _ in
                .respond(201)
            } _: { server in
                let (outgoing, address) = (loopbackConfiguration(), server.origin + "/photo.jpg")
                let client = OutgoingClient(outgoing)
                var configuration = UploadConfiguration()
                configuration.roots = [folder]
                let upload = Upload(client: client, configuration: configuration)
                let receipt = try await upload.run(
                    Upload.Input(file: folder + "/photo.jpg", to: address), context: OperationContext())
                print(receipt.sha256, receipt.bytes)
                await client.shutdown()
                #expect(receipt.bytes == 4)
            }
        }
    }

    @Test func followingLinks() async throws {
        try await LoopbackServer.with {
            $0.path == "/" ? .redirect(302, to: "/there") : .respond(204)
        } _: { server in
            let (outgoing, address) = (loopbackConfiguration(), server.origin)
            let client = OutgoingClient(outgoing)
            let link = try await Unfurl(client: client).run(Unfurl.Input(url: address), context: OperationContext())
            print(link.finalURL, link.cleanedURL, link.canonicalURL ?? "")
            for hop in link.hops { print(hop.url, hop.status ?? 0, hop.durationMs) }
            await client.shutdown()
            #expect(link.hops.count == 2)
        }
    }

    @Test func enrichingLinks() async throws {
        try await LoopbackServer.with { _ in
            .text("<title>Story</title>")
        } _: { server in
            let (outgoing, address, documents) = (loopbackConfiguration(), server.origin, DocumentReader())
            let client = OutgoingClient(outgoing)
            let enrich = Enrich(client: client, documents: documents)
            let page = try await enrich.run(Enrich.Input(url: address), context: OperationContext())
            print(page.title ?? "no title", page.sources["title"] ?? "")
            await client.shutdown()
            #expect(page.title == "Story")
        }
    }

    @Test(arguments: ["SendingFiles", "FollowingLinks", "EnrichingLinks"])
    func everyExampleIsCompiled(article: String) throws {
        let here = URL(fileURLWithPath: #filePath)
        let compiled = try lines(of: here)
        let text = try lines(of: articles(from: here).appendingPathComponent(article + ".md"))
        let examples = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        #expect(!examples.isEmpty)
        for example in examples { #expect(compiled.contains(example)) }
    }

    @Test func everyCodeIsExplained() throws {
        let kinds = articles(from: URL(fileURLWithPath: #filePath))
        let web = kinds.appendingPathComponent("../../Web/Web.docc")
        let text = try [kinds, web].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }
                .map { try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8) }
        }.joined()
        for code in KindFailure.Reason.allCases.map(\.rawValue) { #expect(text.contains("`\(code)`"), "\(code)") }
    }

    @Test func everyFieldOfAnInputIsExplained() throws {
        let folder = articles(from: URL(fileURLWithPath: #filePath))
        for (article, fields) in [
            ("SendingFiles", Upload.inputFields), ("FollowingLinks", Unfurl.inputFields),
            ("EnrichingLinks", Enrich.inputFields),
        ] {
            let text = try String(contentsOf: folder.appendingPathComponent(article + ".md"), encoding: .utf8)
            // The first column may name several fields.
            let named = text.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap {
                ($0.dropFirst(2).components(separatedBy: " |").first ?? "").components(separatedBy: ", ")
            }
            for field in fields { #expect(named.contains("`\(field.name)`"), "\(field.name)") }
        }
    }

    private func articles(from here: URL) -> URL {
        here.deletingLastPathComponent().appendingPathComponent("../../Sources/Kinds/Kinds.docc").standardizedFileURL
    }

    private func lines(of file: URL) throws -> String {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
    }
}
