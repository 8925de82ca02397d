import CNettle
import Crypto
import FoundationEssentials

/// A digest that is computed while the content is sent.
protocol ContentDigest: Sendable {
    mutating func update(bufferPointer bytes: UnsafeRawBufferPointer)
    /// The digest of all bytes so far.
    var value: [UInt8] { get }
}

/// The fastest implementation, for digests that are not continued later.
extension SHA256: ContentDigest {
    var value: [UInt8] { Array(finalize()) }
}

/// A SHA-256 of the bytes read so far, whose state can be stored and continued later: after a restart, the bytes that
/// the server has confirmed need not be read again.
///
/// The digest is computed by nettle, whose state is a plain value. swift-crypto is a fifth faster, but does not give
/// access to its state.
struct RunningDigest: ContentDigest {
    private var state = sha256_ctx()

    init() { nettle_sha256_init(&state) }

    /// How many bytes the digest covers.
    var count: Int64 { Int64(state.count) * 64 + Int64(state.index) }

    mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
        nettle_sha256_update(&state, bytes.count, bytes.bindMemory(to: UInt8.self).baseAddress)
    }

    var value: [UInt8] {
        var ending = state
        return [UInt8](unsafeUninitializedCapacity: 32) { space, count in
            nettle_sha256_digest(&ending, 32, space.baseAddress)
            count = 32
        }
    }
}

/// Encoded as the eight words of the state and the number of bytes, all big-endian, followed by the bytes that do not
/// fill a block yet.
extension RunningDigest: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let bytes = [UInt8](try container.decode(Data.self))
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        guard bytes.count >= 40, number(32..<40) % 64 == UInt64(bytes.count - 40), number(32..<40) < 1 << 60 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a SHA-256 state")
        }
        self.init()
        withUnsafeMutableBytes(of: &state.state) { words in
            for word in 0..<8 {
                words.storeBytes(
                    of: UInt32(number(word * 4..<word * 4 + 4)), toByteOffset: word * 4, as: UInt32.self)
            }
        }
        state.count = number(32..<40) / 64
        state.index = UInt32(bytes.count - 40)
        withUnsafeMutableBytes(of: &state.block) { $0.copyBytes(from: bytes[40...]) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(bytes))
    }

    private var bytes: [UInt8] {
        let words = withUnsafeBytes(of: state.state) { Array($0.bindMemory(to: UInt32.self)) }
        let rest = withUnsafeBytes(of: state.block) { Array($0.prefix(Int(state.index))) }
        let numbers = words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
        return numbers + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) } + rest
    }
}

extension RunningDigest: Hashable {
    static func == (one: RunningDigest, other: RunningDigest) -> Bool { one.bytes == other.bytes }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
