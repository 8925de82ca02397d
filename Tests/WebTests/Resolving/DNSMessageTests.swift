import Samples
import Testing
import WebSyntax

@testable import Web

/// Valid and hostile responses of name servers.
@Suite struct DNSMessageTests {
    private let question = NameServer.Question(
        name: "a.example", family: .v4, isTCP: false, id: 7,
        bytes: [1, 0x61, 7] + Array("example".utf8) + [0, 0, 1, 0, 1])

    private func answer(_ records: [[UInt8]], authority: [[UInt8]] = [], flags: UInt16 = 0x8180) -> DNSAnswer {
        DNSMessage.answer(
            NameServer.message(question, flags: flags, answers: records, authority: authority), for: question.name, .v4)
    }

    private func alias(_ from: UInt8, to: UInt8, ttl: UInt32 = 60) -> [UInt8] {
        NameServer.record([1, from, 0xC0, 14], type: 5, ttl: ttl, [1, to, 0xC0, 14])
    }

    private func address(_ owner: UInt8, _ last: UInt8, ttl: UInt32 = 60) -> [UInt8] {
        NameServer.record([1, owner, 0xC0, 14], type: 1, ttl: ttl, [192, 0, 2, last])
    }

    private let a = UInt8(ascii: "a"), b = UInt8(ascii: "b"), c = UInt8(ascii: "c")

    @Test func aliasesLeadToTheAddressesAndTheShortestTimeCounts() {
        #expect(
            answer([alias(a, to: b, ttl: 20), alias(b, to: c), address(c, 1), address(c, 2, ttl: 30)])
                == .addresses([.v4(0xC000_0201), .v4(0xC000_0202)], ttl: 20))
        // Neither case nor the order of the records matters.
        #expect(answer([address(b, 1), alias(UInt8(ascii: "A"), to: b)]) == .addresses([.v4(0xC000_0201)], ttl: 60))
    }

    @Test func addressesOfOtherNamesAreIgnored() {
        #expect(answer([address(b, 1)]) == .none(ttl: nil))
        #expect(answer([alias(a, to: b), address(c, 1)]) == .none(ttl: nil))
    }

    @Test func circularAndEndlessAliasesFail() {
        #expect(answer([alias(a, to: b), alias(b, to: a)]) == .failed)
        #expect(answer([alias(a, to: a)]) == .failed)
        let long = (0..<20).map { alias(a + $0, to: a + $0 + 1) }
        #expect(answer(long + [address(a + 20, 1)]) == .failed)
    }

    @Test func addressesAreBoundedAndEachIsThereOnce() {
        let many = (0..<1000).map {
            NameServer.record([0xC0, 12], type: 1, ttl: 9, [10, 0, UInt8($0 / 250), UInt8($0 % 250)])
        }
        guard case .addresses(let found, let ttl) = answer(many + many) else {
            Issue.record("no addresses")
            return
        }
        #expect(found.count == DNSMessage.maxAddresses && Set(found).count == found.count && ttl == 9)
    }

    @Test func malformedMessagesFail() {
        let whole = NameServer.message(question, flags: 0x8180, answers: [address(a, 1)], authority: [])
        for count in 0..<whole.count {
            #expect(DNSMessage.answer(Array(whole[..<count]), for: question.name, .v4) == .failed)
        }
        // A pointer to itself, a forward pointer, an address of three bytes, and a query instead of a response.
        #expect(answer([NameServer.record([0xC0, 27], type: 1, ttl: 1, [1, 2, 3, 4])]) == .failed)
        #expect(answer([NameServer.record([0xC0, 200], type: 1, ttl: 1, [1, 2, 3, 4])]) == .failed)
        #expect(answer([NameServer.record([0xC0, 12], type: 1, ttl: 1, [1, 2, 3])]) == .failed)
        #expect(answer([address(a, 1)], flags: 0x0100) == .failed)
    }

    /// Each record of a long message could point through all of the message.
    @Test func longChainsOfPointersFail() {
        func answered(after pointers: Int) -> DNSAnswer {
            // A record of an unknown type that contains the question's name and pointers, each to the previous one.
            let start = 12 + question.bytes.count + 12
            let chain = (0..<pointers).flatMap { index -> [UInt8] in
                let target = index == 0 ? 12 : start + 2 * (index - 1)
                return [0xC0 | UInt8(target >> 8), UInt8(target & 0xFF)]
            }
            let last = start + 2 * (pointers - 1)
            return answer([
                NameServer.record([0xC0, 12], type: 99, ttl: 1, chain),
                NameServer.record([0xC0 | UInt8(last >> 8), UInt8(last & 0xFF)], type: 1, ttl: 1, [192, 0, 2, 1]),
            ])
        }
        #expect(answered(after: 3) == .addresses([.v4(0xC000_0201)], ttl: 1))
        #expect(answered(after: DNSMessage.maxPointers - 1) == .addresses([.v4(0xC000_0201)], ttl: 1))
        #expect(answered(after: 2000) == .failed)
    }

    @Test func negativeTTLIsTheSmallerOfTheTwo() {
        let origin = NameServer.record(
            [0], type: 6, ttl: 900, [0, 0] + [UInt8](repeating: 0, count: 16) + [0, 0, 0, 120])
        #expect(answer([], authority: [origin], flags: 0x8183) == .noSuchName(ttl: 120))
        #expect(answer([], authority: [origin]) == .none(ttl: 120))
        #expect(answer([address(a, 1, ttl: 0x8000_0000)]) == .addresses([.v4(0xC000_0201)], ttl: 0))
    }

    /// Parsing arbitrary bytes returns an answer within bounds.
    @Test func changedMessagesHarmNothing() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix(seed: seed)
        let whole = NameServer.message(
            question, flags: 0x8180, answers: [alias(a, to: b), alias(b, to: c), address(c, 1), address(c, 2)],
            authority: [NameServer.record([0], type: 6, ttl: 1, [UInt8](repeating: 0, count: 22))])
        for _ in 0..<50_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) {
                bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            }
            let found = DNSMessage.answer(bytes, for: question.name, .v4).addresses
            #expect(found.count <= DNSMessage.maxAddresses, "seed \(seed)")
        }
    }
}
