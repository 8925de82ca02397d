import Foundation
import Jobs
import Testing

/// Sizes and durations in the configuration and in inputs.
@Suite struct QuantityTests {
    @Test(arguments: [("0B", 0), ("512B", 512), ("64MiB", 64 << 20), ("5 TiB", 5 << 40)])
    func sizesAreReadAndWrittenAlike(text: String, bytes: Int64) {
        #expect(ByteSize(text)?.bytes == bytes)
        #expect(ByteSize("\(ByteSize(bytes))")?.bytes == bytes)
    }

    @Test(arguments: ["", "5", "MiB", "-1B", "1.5GiB", "9223372036854775807KiB", "1MB"])
    func whatIsNoSizeIsRefused(text: String) {
        #expect(ByteSize(text) == nil)
    }

    @Test func longestDurationHasInt64MaxMilliseconds() {
        let longest = "\(Int64.max)ms"
        #expect(Duration(human: longest)?.milliseconds == .max)
        #expect(Duration(human: longest + "1ms") == nil)
        #expect(Duration(human: String(repeating: longest, count: 20_000)) == nil)
    }

    private struct Input: Codable, Equatable {
        var size: ByteSize?
        var wait: HumanDuration?
    }

    private func decoded(_ json: String) throws -> Input {
        try JSONDecoder().decode(Input.self, from: Data(json.utf8))
    }

    @Test func quantitiesAreTextInJSON() throws {
        let input = Input(size: ByteSize(100 << 10), wait: HumanDuration(.seconds(90)))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = String(decoding: try encoder.encode(input), as: UTF8.self)
        #expect(json == #"{"size":"100KiB","wait":"1m30s"}"#)
        #expect(try decoded(json) == input)
        #expect(try decoded(#"{"size":102400,"wait":"90s"}"#) == input)
        #expect(try decoded("{}") == Input())
    }

    @Test(arguments: [#"{"size":"100"}"#, #"{"size":1.5}"#, #"{"size":true}"#, #"{"wait":90}"#, #"{"wait":"90"}"#])
    func otherValuesAreRefused(json: String) {
        #expect(throws: DecodingError.self) { try decoded(json) }
    }
}
