import Crypto
import Foundation
import Samples
import Testing

@testable import Kinds

@Suite struct RunningDigestTests {
    /// Examples of FIPS 180-4 (NIST), and the digest of no bytes.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func examplesOfTheStandardAgree(text: String, digest: String) {
        var running = RunningDigest()
        running.update(data: text.utf8)
        #expect(running.value.hexadecimal == digest)
        #expect(running.count == text.utf8.count)
    }

    /// Storing and restoring the state at any length within two blocks does not change the digest.
    @Test func storedStateGoesOn() throws {
        let bytes = randomBytes(300, seed: 9)
        let whole = Array(SHA256.hash(data: bytes))
        for cut in 0...130 {
            var before = RunningDigest()
            before.update(data: bytes[..<cut])
            let stored = try JSONEncoder().encode([before])
            var after = try #require(try JSONDecoder().decode([RunningDigest].self, from: stored).first)
            #expect(after.count == cut && after == before)
            after.update(data: bytes[cut...])
            #expect(after.value == whole)
            // Reading the value does not change the state.
            #expect(before.value == Array(SHA256.hash(data: bytes[..<cut])))
        }
    }

    @Test(arguments: [0, 1, 39, 41, 103, 104, 200])
    func whatIsNoStateIsRefused(count: Int) throws {
        let stored = try JSONEncoder().encode([Data(repeating: 0, count: count)])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([RunningDigest].self, from: stored) }
    }
}

extension RunningDigest {
    mutating func update(data: some Sequence<UInt8>) {
        Array(data).withUnsafeBytes { update(bufferPointer: $0) }
    }
}
