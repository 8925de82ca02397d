import CNettle

/// The SHA-256 of bytes that are read in pieces.
package struct ContentDigest {
    private var state = sha256_ctx()

    package init() { nettle_sha256_init(&state) }

    package mutating func add(_ bytes: [UInt8]) { nettle_sha256_update(&state, bytes.count, bytes) }

    /// The digest of all bytes so far, in hexadecimal.
    package var hexadecimal: String {
        var ending = state
        let bytes = [UInt8](unsafeUninitializedCapacity: 32) { space, count in
            nettle_sha256_digest(&ending, 32, space.baseAddress)
            count = 32
        }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
