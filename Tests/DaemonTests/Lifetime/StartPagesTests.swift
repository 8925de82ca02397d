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
        StartPages.release()
    }
}
