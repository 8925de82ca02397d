import Foundation
import OperationTypes
import Testing

@testable import Kinds

@Suite struct ContentDecoderTests {
    /// The same page of 12,026 bytes in every coding.
    enum Coding: String, CaseIterable {
        case gzip, members, zlib, raw, zstd, brotli

        var name: String {
            switch self {
            case .gzip: "gzip"
            case .members: "x-gzip"
            case .zlib, .raw: "deflate"
            case .zstd: "zstd"
            case .brotli: "br"
            }
        }

        var bytes: [UInt8] {
            let text =
                switch self {
                case .gzip:
                    "H4sIAAAAAAACA+3IUQmAMBQAwCprYIHHMqyCuH3IBEUGZjKHxfwwhvd1cDHWsbVc5qW3mp47pi/iyNd+1kSSJEmSJEmSJEmSJEmSJEmSJEmSJEmS/LcvMIJK"
                        + "35g+AAA="
                case .members:
                    "H4sIAAAAAAACA+3IQQmAMBQA0CprYIHPMqyCuB1kgiIDM5nDYh6M4PWdHrwY69haLvPSW03PHdMXceRrP2siSZIkSZIk+d8X1lVj4YgTAAAfiwgAAAAAAAID7cUx"
                        + "DQAwCAAwKwghqOHfsgf700HSPs1bc15H2rZt27Zt27Zt27Zt27Zt2wv/0Sp//BArAAA="
                case .zlib:
                    "eNrtyFEJgDAUAMAqa2CBxzKsgrh9yARFBmYyh8X8MIb3dXAx1rG1XOalt5qeO6Yv4sjXftZEkiRJkiRJkiRJkiRJkiRJkiRJkiRJkvy3L72ZtVc="
                case .raw:
                    "7chRCYAwFADAKmtggccyrIK4fcgERQZmMofF/DCG93VwMdaxtVzmpbeanjumL+LI137WRJIkSZIkSZIkSZIkSZIkSZIkSZIkSZL8ty8="
                case .zstd: "KLUv/QRoJQEA0Dx0aXRsZT5QYWNrZWQgw6k8LzxwPndvcmQgAgB1foVzhM0wr9c1Bg=="
                case .brotli: "G5c++B2pUZ87phruLnVYg5CVySmftxakEHRu0w5ssFBDlCMlufRfxgYAXgA="
                }
            return [UInt8](Data(base64Encoded: text) ?? Data())
        }

        var decoder: any ContentDecoder {
            switch self {
            case .gzip, .members: InflateDecoder(gzip: true)
            case .zlib, .raw: InflateDecoder(gzip: false)
            case .zstd: ZstandardDecoder()
            case .brotli: BrotliDecoder()
            }
        }
    }

    private let page = Array(("<title>Packed é</title>" + String(repeating: "<p>word ", count: 2000)).utf8)

    private func decode(_ decoder: any ContentDecoder, _ pieces: [[UInt8]], limit: Int) throws -> [UInt8] {
        var output: [UInt8] = []
        for piece in pieces {
            var isOpen = true
            try piece.withUnsafeBytes { isOpen = try decoder.decode($0, into: &output, limit: limit) }
            if !isOpen { break }
        }
        return output
    }

    @Test(arguments: Coding.allCases)
    func everyCodingIsUndone(coding: Coding) throws {
        #expect(try decode(coding.decoder, [coding.bytes], limit: 1 << 20) == page)
        // However the bytes arrive.
        #expect(try decode(coding.decoder, coding.bytes.map { [$0] }, limit: 1 << 20) == page)
        #expect(try decode(coding.decoder, coding.bytes.map { [$0] }, limit: 100) == Array(page[..<100]))
    }

    @Test(arguments: Coding.allCases)
    func decodedPageIsDescribed(coding: Coding) async throws {
        let answer = LoopbackServer.Answer.respond(
            200, [("content-type", "text/html; charset=utf-8"), ("content-encoding", coding.name)], coding.bytes)
        try await LoopbackServer.with { _ in
            answer
        } _: { server in
            try await withClient { client in
                let output = try await Enrich(client: client).result(Enrich.Input(url: server.origin))
                #expect(output.title == "Packed é")
                #expect(output.bytes == page.count)
                #expect(!output.isTruncated)
            }
        }
    }

    /// 64 MiB of zeros in 64 KiB: the decoded limit holds, and the page is cut there.
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

    @Test(arguments: UInt64(1)...4)
    func damageNeverTraps(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for coding in Coding.allCases {
            for _ in 0..<300 {
                var bytes = coding.bytes
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                let output = (try? decode(coding.decoder, [bytes], limit: 50_000)) ?? []
                #expect(output.count <= 50_000)
            }
        }
    }
}

extension NSData {
    /// A zlib stream of stored and repeated zeros, made by hand: one block of fixed codes, a literal zero and its repetitions.
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
        put(0b011, 3)  // The last block, fixed codes.
        put(0b0000_1100, 8)  // Literal 0 is 00110000, its bits reversed.
        for _ in 0..<(length - 1) / 258 {
            put(0b1010_0011, 8)  // Length 258 is 11000101, reversed.
            put(0, 5)  // Distance 1.
        }
        put(0, 7)  // End of block.
        put(0, 8)
        return [0x78, 0x9C] + bits
    }

    /// Each member costs some work, also an empty one.
    @Test func endlessMembersAreDamage() throws {
        let empty: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0]
        for (decoder, piece) in [(InflateDecoder(gzip: true), empty), (ZstandardDecoder(), frame)]
            as [(any ContentDecoder, [UInt8])]
        {
            var output: [UInt8] = []
            let few = Array(repeatElement(piece, count: 999).joined())
            #expect(try few.withUnsafeBytes { try decoder.decode($0, into: &output, limit: 100) })
            #expect(throws: CorruptContent.self) {
                try (piece + piece).withUnsafeBytes { _ = try decoder.decode($0, into: &output, limit: 100) }
            }
            #expect(output.isEmpty)
        }
    }
}
