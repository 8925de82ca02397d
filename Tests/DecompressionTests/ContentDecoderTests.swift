import Samples
import Testing

@testable import Decompression

@Suite struct ContentDecoderTests {
    private func decode(_ decoder: any ContentDecoder, _ pieces: [[UInt8]], limit: Int) throws -> [UInt8] {
        var output: [UInt8] = []
        for piece in pieces {
            var isOpen = true
            try piece.withUnsafeBytes { isOpen = try decoder.decode($0, into: &output, limit: limit) }
            if !isOpen { break }
        }
        return output
    }

    @Test(arguments: PackedPage.allCases)
    func everyCodingIsUndone(coding: PackedPage) throws {
        #expect(try decode(coding.decoder, [coding.bytes], limit: 1 << 20) == PackedPage.page)
        // However the bytes arrive.
        #expect(try decode(coding.decoder, coding.bytes.map { [$0] }, limit: 1 << 20) == PackedPage.page)
        #expect(try decode(coding.decoder, coding.bytes.map { [$0] }, limit: 100) == Array(PackedPage.page[..<100]))
    }

    @Test(arguments: UInt64(1)...4)
    func damageNeverTraps(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for coding in PackedPage.allCases {
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
            #expect(throws: DecompressionProblem.self) {
                try (piece + piece).withUnsafeBytes { _ = try decoder.decode($0, into: &output, limit: 100) }
            }
            #expect(output.isEmpty)
        }
    }
}

extension PackedPage {
    fileprivate var decoder: any ContentDecoder {
        switch self {
        case .gzip, .members: InflateDecoder(gzip: true)
        case .zlib, .raw: InflateDecoder(gzip: false)
        case .zstd: ZstandardDecoder()
        case .brotli: BrotliDecoder()
        }
    }
}
