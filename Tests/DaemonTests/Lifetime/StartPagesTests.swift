import Foundation
import Testing

@testable import Daemon

@Suite struct StartPagesTests {
    /// Releasing a page that was written would lose its content.
    @Test func onlyPagesThatNobodyCanWriteAreReleased() throws {
        let segments = StartPages.segments()
        #expect(!segments.isEmpty)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let lines = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n")
        for segment in segments {
            let line = try #require(
                lines.first { line in
                    let bounds = line.split(separator: " ")[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                    return bounds.count == 2 && bounds[0] <= segment.lowerBound && segment.upperBound <= bounds[1]
                }, "\(segment)")
            let permissions = line.split(separator: " ")[1]
            #expect(!permissions.contains("w") && permissions.hasSuffix("p"), "\(line)")
            #expect(line.hasSuffix(program), "\(line)")
        }
        let before = try residentBytes(of: segments)
        StartPages.release()
        #expect(try residentBytes(of: segments) < before)
    }

    private func residentBytes(of segments: [Range<UInt>]) throws -> Int {
        var bytes = 0
        var isInside = false
        for line in try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ")
            if let bounds = words.first?.split(separator: "-"), bounds.count == 2,
                let start = UInt(bounds[0], radix: 16)
            {
                isInside = segments.contains {
                    $0.contains(start) || start <= $0.lowerBound && $0.lowerBound < UInt(bounds[1], radix: 16) ?? 0
                }
            } else if isInside, words.first == "Rss:" {
                bytes += Int(words[1]) ?? 0
            }
        }
        return bytes
    }
}
