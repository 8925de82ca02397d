import Foundation
import Glibc
import OperationTypes
import Testing

@testable import Kinds

/// Helpers are copies of `halyardd`, which is built beside the tests.
@Suite struct DocumentReaderTests {
    private static let daemon =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(
            path: "halyardd"
        )
        .path
    private static let helper = DocumentReader.Place.helper(command: [daemon, DocumentHelper.word])
    /// Far more than any document here takes, on a machine that is busy as well.
    private static let patience = Duration.seconds(60)

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

    @Test func helperReadsAsTheProgramItselfWould() async throws {
        let reader = DocumentReader(Self.helper, deadline: Self.patience)
        let here = DocumentReader()
        let documents: [([UInt8], String?)] = [
            (Self.page, "text/html"), (Array("GIF89a".utf8) + [10, 0, 20, 0], nil), ([], nil),
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
        #expect(try await reader.read(HeadTask(contentType: nil), Self.page, at: url).title == "A & B")
        let gif = try await reader.read(MeasureTask(), Array("GIF89a".utf8) + [10, 0, 20, 0], at: url)
        #expect(gif.facts == MediaFacts(contentType: "image/gif", width: 10, height: 20))
    }

    @Test func helperIsOneThreadWithoutRights() async throws {
        let reader = DocumentReader(Self.helper, deadline: Self.patience)
        _ = try await reader.read(describe(), Self.page, at: url)
        let id = try #require(reader.idleHelpers.first)
        let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
        #expect(status.contains("Seccomp:\t2"))
        #expect(status.contains("NoNewPrivs:\t1"))
        #expect(status.contains("Threads:\t1"))
    }

    @Test func helperOpensNothing() async {
        await #expect(processExitsWith: .signal(SIGSYS)) {
            guard DocumentHelper.lockDown() else { exit(1) }
            _ = open("/etc/hostname", O_RDONLY)
            exit(0)
        }
        await #expect(processExitsWith: .signal(SIGSYS)) {
            guard DocumentHelper.lockDown() else { exit(1) }
            _ = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            exit(0)
        }
    }

    @Test func helperThatDiedWhileIdleIsReplaced() async throws {
        let reader = DocumentReader(Self.helper, deadline: Self.patience)
        _ = try await reader.read(describe(), Self.page, at: url)
        let first = try #require(reader.idleHelpers.first)
        kill(first, SIGKILL)
        #expect(try await reader.read(describe(), Self.page, at: url).title == "H")
        #expect(reader.idleHelpers.first != first)
    }

    @Test func helperEndsWithItsReader() async throws {
        var reader: DocumentReader? = DocumentReader(Self.helper, deadline: Self.patience)
        _ = try await reader?.read(describe(), Self.page, at: url)
        let id = try #require(reader?.idleHelpers.first)
        // The thread that did the work may let go of the reader a moment after us.
        reader = nil
        while kill(id, 0) == 0 { await Task.yield() }
        #expect(kill(id, 0) == -1)
    }

    @Test(
        arguments: [
            (["/bin/true"], "document_unreadable"), (["/bin/sleep", "1000"], "document_unreadable"),
            (["/nowhere"], "helper_failed"),
        ])
    func brokenHelperFailsTheDocumentOnly(command: [String], code: String) async {
        let reader = DocumentReader(.helper(command: command), deadline: .milliseconds(200))
        let problem = await failure { () async throws(KindFailure) in
            try await reader.read(describe(), Self.page, at: url)
        }
        #expect(problem?.code == code)
        #expect(reader.idleHelpers.isEmpty)
    }

    /// The tests' own program offers no helpers; a copy of it must not be started.
    @Test func programThatOffersNoHelpersIsNotCopied() async {
        let reader = DocumentReader(.thisProgram)
        let problem = await failure { () async throws(KindFailure) in
            try await reader.read(describe(), Self.page, at: url)
        }
        #expect(problem?.code == "helper_failed")
        #expect(problem?.message.contains("runIfAsked") == true)
    }

    @Test func pageIsReadByAHelper() async throws {
        let output = try await LoopbackServer.with { _ in
            .respond(200, [("content-type", "text/html")], Self.page)
        } _: { server in
            try await withClient { client in
                let documents = DocumentReader(Self.helper, deadline: Self.patience)
                let output = try await Enrich(client: client, documents: documents).result(
                    Enrich.Input(url: server.origin, measuresImage: false))
                #expect(documents.idleHelpers.count == 1)
                return output
            }
        }
        #expect(output.title == "H")
    }
}
