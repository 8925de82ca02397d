import ArgumentParser
import Foundation
import Testing

@testable import Commands

/// The fast path through a call's arguments must return the full parser's result, or nothing.
@Suite struct PlainOptionTests {
    /// An option without an entry only makes a call slower, but an entry without an option is a bug.
    @Test func theTableNamesTheOptionsOfTheFullParser() throws {
        struct Description: Decodable {
            struct Command: Decodable { var arguments: [Argument] }
            struct Argument: Decodable {
                var names: [Name]?
            }
            struct Name: Decodable { var name: String }
            var command: Command
        }
        let error = #expect(throws: (any Error).self) {
            try Halyard.Enqueue.parseAsRoot(["--experimental-dump-help"])
        }
        let text = Halyard.Enqueue.fullMessage(for: try #require(error))
        let description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
        let names = description.command.arguments.flatMap { $0.names ?? [] }.map(\.name)
        #expect(
            Set(names.map { ($0.count == 1 ? "-" : "--") + $0 }).subtracting(["-h", "--help"])
                == Set(Halyard.Enqueue.plainOptions.map(\.name)))
    }

    @Test(arguments: UInt64(1)...8)
    func everyReadCallIsReadAlikeByTheFullParser(seed: UInt64) throws {
        var random = Random(state: seed)
        var read = 0
        for _ in 0..<400 {
            let words = random.call()
            guard let plain = Halyard.Enqueue(plain: words) else { continue }
            read += 1
            let full = try? Halyard.parseAsRoot(["enqueue"] + words)
            #expect(
                full.map { String(describing: $0) } == String(describing: plain), "seed \(seed): \(words)")
        }
        #expect(read > 40, "seed \(seed)")
    }

    @Test(arguments: [
        ["unfurl", "https://example.com/", "--in", "10h"],
        ["unfurl", "--set", "url=https://example.com/", "--set", "a=b", "--json"],
        ["--lines", "-"], ["a", "--wait", "--timeout", "5s", "--reconnect", "0s"],
        ["a", "x", "--after", "41", "y", "--after", "42:finished", "--socket", "/run/s", "--database", "/d"],
        ["a", "--at", "18:00", "--queue", "q", "--priority", "high", "--key", "k", "--copy", "--input", "-"],
    ])
    func usualCallsAreRead(words: [String]) throws {
        let plain = try #require(Halyard.Enqueue(plain: words))
        #expect(String(describing: plain) == String(describing: try Halyard.parseAsRoot(["enqueue"] + words)))
    }

    @Test(arguments: [
        [], ["--help"], ["a", "-h"], ["a", "--in"], ["a", "--in=10h"], ["a", "--in", "x"], ["a", "--in", "--json"],
        ["a", "--quiet"], ["a", "--", "b"], ["a", "--in", "5m", "--at", "18:00"], ["a", "--timeout", "5s"],
        ["a", "--lines", "-"], ["--lines", "-", "--copy"], ["a", "--priority", "vast"], ["a", "--after", "-1"],
        [""], ["a", "--queue", ""],
    ])
    func everythingElseIsLeftToTheFullParser(words: [String]) {
        #expect(Halyard.Enqueue(plain: words) == nil)
    }

    /// Generates calls whose words form a valid call often enough.
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }

        private static let words = [
            "unfurl", "https://example.com/", "a=b", "", " ", "-", "--", "help", "-5", "é", "=", "--set=a=b", "--jso",
            "-j",
            "41", "10h", "18:00",
        ]
        private static let values = [
            "10h", "5m", "0s", "18:00", "2026-07-25T18:00Z", "41", "41:finished", "high", "-", "a=b", "", "-1",
            "--json", "x",
        ]

        mutating func call() -> [String] {
            var call = Bool.random(using: &self) ? ["unfurl"] : []
            for _ in 0..<Int.random(in: 0...4, using: &self) {
                switch Int.random(in: 0...9, using: &self) {
                case 0...2: call.append(Self.words.randomElement(using: &self)!)
                case 3: call.append(["--json", "--copy", "--wait", "--help"].randomElement(using: &self)!)
                case 4...8:
                    let (option, value) = Self.pairs.randomElement(using: &self)!
                    call += [option, value]
                default:
                    call.append(Halyard.Enqueue.plainOptions.randomElement(using: &self)!.name)
                    call.append(Self.values.randomElement(using: &self)!)
                }
            }
            return call
        }

        private static let pairs = [
            ("--set", "a=b"), ("--input", "f"), ("--after", "41"), ("--after", "42:finished"), ("--at", "18:00"),
            ("--in", "10h"), ("--queue", "q"), ("--priority", "high"), ("--key", "k"), ("--timeout", "5s"),
            ("--reconnect", "1m"), ("--socket", "s"), ("--database", "d"), ("--lines", "-"),
        ]
    }
}
