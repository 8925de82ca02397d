import Foundation
import OperationTypes
import Pages
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// Responses with a content coding.
@Suite struct PackedPageTests {
    @Test(arguments: PackedPage.allCases)
    func decodedPageIsDescribed(coding: PackedPage) async throws {
        let answer = LoopbackServer.Answer.respond(
            200, [("content-type", "text/html; charset=utf-8"), ("content-encoding", coding.name)], coding.bytes)
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            try await withClient { client in
                let output = try await Enrich(client: client).result(Enrich.Input(url: server.origin))
                #expect(output.title == "Packed é")
                #expect(output.bytes == PackedPage.page.count)
                #expect(!output.isTruncated)
            }
        }
    }

    /// A bomb of 64 MiB of zeros in 64 KiB: the page is cut at the limit on decoded bytes.
    @Test func bombIsCutAtTheLimit() async throws {
        let zeros = try (NSData(data: Data(count: 64 << 20)).compressedForTest())
        let answer = LoopbackServer.Answer.respond(
            200, [("content-type", "text/html"), ("content-encoding", "deflate")], zeros)
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            try await withClient { client in
                let output = try await Enrich(client: client).result(Enrich.Input(url: server.origin))
                #expect(output.bytes == 2 << 20)
                #expect(output.isTruncated)
            }
        }
    }

    @Test func pageThatIsOnlyCalledGzipIsTakenAsItIs() async throws {
        let answer = LoopbackServer.Answer.respond(
            200, [("content-type", "text/html"), ("content-encoding", "gzip")], Array("<title>plain</title>".utf8))
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            try await withClient { client in
                let output = try await Enrich(client: client).result(Enrich.Input(url: server.origin))
                #expect(output.title == "plain")
            }
        }
    }

    @Test(arguments: ["br", "zstd", "deflate", "compress"])
    func damagedBodyIsAFailure(coding: String) async throws {
        let answer = LoopbackServer.Answer.respond(
            200, [("content-type", "text/html"), ("content-encoding", coding)], Array(repeating: 0xFF, count: 100))
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            try await withClient { client in
                let failure = await failure { () async throws(KindFailure) in
                    try await Enrich(client: client).run(Enrich.Input(url: server.origin), context: .init())
                }
                #expect(failure?.code == "protocol_error")
            }
        }
    }
}

extension NSData {
    /// A zlib stream of zeros: one block with fixed codes, which holds a literal zero and its repetitions.
    fileprivate func compressedForTest() throws -> [UInt8] {
        var bits: [UInt8] = []
        var pending: UInt32 = 0
        var count = 0
        func put(_ value: UInt32, _ width: Int) {
            pending |= value << UInt32(count)
            count += width
            while count >= 8 {
                bits.append(UInt8(pending & 255))
                pending >>= 8
                count -= 8
            }
        }
        put(0b011, 3)  // Last block, fixed codes.
        put(0b0000_1100, 8)  // Literal 0: 00110000, bits reversed.
        for _ in 0..<(length - 1) / 258 {
            put(0b1010_0011, 8)  // Length 258: 11000101, bits reversed.
            put(0, 5)  // Distance 1.
        }
        put(0, 7)  // End of block.
        put(0, 8)
        return [0x78, 0x9C] + bits
    }
}
