import Foundation
import Glibc
import OperationTypes
import Samples
import Servers
import Testing
import Web
import WebSyntax

@testable import Kinds
@testable import Pages

/// Starts copies of `halyard-worker`, which is built next to the tests, as sandboxes.
@Suite struct DocumentReaderTests {
    private static let worker =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(
            path: "halyard-worker"
        )
        .path
    private static let sandbox = DocumentReader.Location.sandbox(command: [worker, DocumentSandbox.word])
    /// Deadline that a document of these tests cannot exceed, even on a busy machine.
    private static let patience = Duration.seconds(60)
    /// Idle limit that no sandbox reaches during a test.
    private static let shift = Duration.seconds(3600)

    private static let page = Array(
        """
        <html lang=en><title>A &amp; B</title><script type="application/ld+json">{"@type":"Article","headline":"H",
        "datePublished":"2024-02-03"}</script><meta property=og:image content=/p.png>
        """.utf8)
    private let url: WebURL

    init() throws { url = try WebURL(parsing: "https://example.org/x") }

    private func describe(_ type: String? = "text/html") -> DescribeTask {
        DescribeTask(url: "\(url)", contentType: type)
    }

    @Test func sandboxReadsAsTheProgramItselfWould() async throws {
        let reader = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
        let here = DocumentReader()
        let pdf = try #require(GoldenDocument.all.first { $0.name == "pdf-object-streams" })
        let documents: [([UInt8], String?)] = [
            (pdf.document, "application/pdf"), (Self.page, "text/html"), (Array("GIF89a".utf8) + [10, 0, 20, 0], nil),
            ([], nil),
            (Array("<title>".utf8) + [0x83, 0x65], "text/html; charset=shift_jis"),
            (Array("<title>".utf8) + [0xC4, 0xE3], "text/html; charset=gb2312"),
            (Array("<title>".utf8) + [0xA4, 0xCE], "text/html; charset=euc-jp"),
            (Array("<title>".utf8) + [0x1B, 0x24, 0x42, 0x24, 0x4E], "text/html; charset=iso-2022-jp"),
            (Array("<title>".utf8) + [0xA4, 0xA4], "text/html; charset=big5"),
            (Array("<title>".utf8) + [0xB0, 0xA1], "text/html; charset=euc-kr"),
            (Array("<title>".utf8) + [0xE5], "text/html; charset=koi8-u"),
        ]
        for (bytes, type) in documents {
            let expected = try await here.read(describe(type), bytes, at: url)
            #expect(try await reader.read(describe(type), bytes, at: url) == expected)
        }
        let page = try await reader.read(HeadTask(contentType: nil), Self.page, at: url)
        #expect(page.head.title == "A & B" && page.signs.describesItself)
        #expect(try await reader.read(SignsTask(), Self.page, at: url) == page.signs)
        let gif = try await reader.read(MeasureTask(), Array("GIF89a".utf8) + [10, 0, 20, 0], at: url)
        #expect(gif.facts == MediaFacts(contentType: "image/gif", width: 10, height: 20))
    }

    @Test func sandboxIsOneThreadWithoutRights() async throws {
        let reader = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
        _ = try await reader.read(describe(), Self.page, at: url)
        let id = try #require(reader.idleSandboxes.first)
        let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
        #expect(status.contains("Seccomp:\t2"))
        #expect(status.contains("NoNewPrivs:\t1"))
        #expect(status.contains("Threads:\t1"))
    }

    @Test func sandboxOpensNothing() async {
        await #expect(processExitsWith: .signal(SIGSYS)) {
            guard DocumentSandbox.lockDown() else { exit(1) }
            _ = open("/etc/hostname", O_RDONLY)
            exit(0)
        }
        await #expect(processExitsWith: .signal(SIGSYS)) {
            guard DocumentSandbox.lockDown() else { exit(1) }
            _ = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            exit(0)
        }
    }

    @Test func sandboxThatDiedWhileIdleIsReplaced() async throws {
        let reader = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
        _ = try await reader.read(describe(), Self.page, at: url)
        let first = try #require(reader.idleSandboxes.first)
        kill(first, SIGKILL)
        #expect(try await reader.read(describe(), Self.page, at: url).title == "H")
        #expect(reader.idleSandboxes.first != first)
    }

    @Test func sandboxThatIsIdleForTooLongIsEnded() async throws {
        let reader = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: .milliseconds(50))
        _ = try await reader.read(describe(), Self.page, at: url)
        // Nothing else is read, so only the sandbox's end can empty the list.
        while !reader.idleSandboxes.isEmpty { await Task.yield() }
        #expect(reader.idleSandboxes.isEmpty)
    }

    @Test func sandboxEndsWithItsReader() async throws {
        var reader: DocumentReader? = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
        _ = try await reader?.read(describe(), Self.page, at: url)
        let id = try #require(reader?.idleSandboxes.first)
        // The thread that did the work may release the reader slightly later than this test does.
        reader = nil
        while kill(id, 0) == 0 { await Task.yield() }
        #expect(kill(id, 0) == -1)
    }

    @Test(
        arguments: [
            (["/bin/true"], "document_unreadable"), (["/bin/sleep", "1000"], "document_unreadable"),
            (["/nowhere"], "sandbox_failed"),
        ])
    func brokenSandboxFailsTheDocumentOnly(command: [String], code: String) async {
        let reader = DocumentReader(.sandbox(command: command), deadline: .milliseconds(200))
        let problem = await failure { () async throws(KindFailure) in
            try await reader.read(describe(), Self.page, at: url)
        }
        #expect(problem?.code == code)
        #expect(reader.idleSandboxes.isEmpty)
    }

    /// A task that the sandbox does not know, for example because it belongs to another release.
    private struct StrangeTask: DocumentTask {
        static let name = "strange"
        struct Answer: Codable, Sendable {}
        func read(_ bytes: [UInt8]) -> Answer { Answer() }
    }

    /// A task that cannot be encoded: JSON has no infinity.
    private struct EndlessTask: DocumentTask {
        static let name = "describe"
        var number = Double.infinity
        struct Answer: Codable, Sendable {}
        func read(_ bytes: [UInt8]) -> Answer { Answer() }
    }

    @Test func questionThatCannotBeAnsweredIsNotTheDocumentsFault() async {
        let reader = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
        let unknown = await failure { () async throws(KindFailure) in
            try await reader.read(StrangeTask(), Self.page, at: url)
        }
        #expect(unknown?.code == "sandbox_failed")
        let unsent = await failure { () async throws(KindFailure) in
            try await reader.read(EndlessTask(), Self.page, at: url)
        }
        #expect(unsent?.code == "sandbox_failed")
        #expect(reader.idleSandboxes.isEmpty)
    }

    @Test func documentThatIsTooLargeForASandboxFailsWithTheLimit() async throws {
        let reader = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
        _ = try await reader.read(describe(), Self.page, at: url)
        let sandboxes = reader.idleSandboxes
        let long = await failure { () async throws(KindFailure) in
            try await reader.read(describe(String(repeating: "x", count: 70_000)), Self.page, at: url)
        }
        #expect(long?.code == "document_unreadable" && long?.message.contains("32 MiB and 64 KiB") == true)
        let large = await failure { () async throws(KindFailure) in
            try await reader.read(describe(), [UInt8](repeating: 0, count: 32 << 20 + 1), at: url)
        }
        #expect(large?.message == long?.message)
        // The refused documents cost no sandbox.
        #expect(reader.idleSandboxes == sandboxes)
    }

    /// The test program has no sandbox mode; starting a copy of it would run the tests again.
    @Test func programThatOffersNoSandboxesIsNotCopied() async {
        let reader = DocumentReader(.thisProgram)
        let problem = await failure { () async throws(KindFailure) in
            try await reader.read(describe(), Self.page, at: url)
        }
        #expect(problem?.code == "sandbox_failed")
        #expect(problem?.message.contains("runIfAsked") == true)
    }

    @Test func pageIsReadByASandbox() async throws {
        let output = try await LoopbackServer.with { _ in
            .respond(200, [("content-type", "text/html")], Self.page)
        } _: { server in
            try await withClient { client in
                let documents = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
                let output = try await Enrich(client: client, documents: documents).result(
                    Enrich.Input(url: server.origin, measuresImage: false))
                #expect(documents.idleSandboxes.count == 1)
                return output
            }
        }
        #expect(output.title == "H")
    }

    /// The page has no head, so a sandbox searches the body for signs of a wall.
    @Test func wallIsFoundByASandbox() async throws {
        try await LoopbackServer.with { _ in
            .text("<title>Just a moment...</title><p>Checking</p>")
        } _: { server in
            try await withClient { client in
                let documents = DocumentReader(Self.sandbox, deadline: Self.patience, idleLimit: Self.shift)
                let unfurled = await failure { () async throws(KindFailure) in
                    try await Unfurl(client: client, documents: documents).run(
                        Unfurl.Input(url: server.origin), context: OperationContext())
                }
                let enriched = await failure { () async throws(KindFailure) in
                    try await Enrich(client: client, documents: documents).run(
                        Enrich.Input(url: server.origin), context: OperationContext())
                }
                #expect([unfurled?.code, enriched?.code] == ["blocked", "blocked"])
            }
        }
    }
}
