import CNettle

/// The number of rows of a table, and the SHA-256 over them.
///
/// The hashed form of a value is a byte for its type, followed by the value: a whole number as eight bytes in network
/// order, a text as its length and its bytes. NULL is only the byte.
package struct FactDigest: Sendable, Hashable {
    package var count: Int
    /// 64 hexadecimal digits.
    package var sha256: String

    package init(count: Int, sha256: String) {
        self.count = count
        self.sha256 = sha256
    }
}

/// Computes the digest of one table.
package struct FactHash {
    private var state = sha256_ctx()
    private var count = 0

    package init() { nettle_sha256_init(&state) }

    package mutating func add(_ batch: FactBatch) {
        let isText = batch.table.columns.map(\.isText)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(batch.bytes + batch.count * batch.columns.count * 9)
        for row in 0..<batch.count {
            for (column, isText) in isText.enumerated() {
                if isText {
                    guard let text = batch.columns[column].texts[row] else {
                        bytes.append(0)
                        continue
                    }
                    bytes.append(2)
                    Self.append(Int64(text.count), to: &bytes)
                    bytes.append(contentsOf: text)
                } else {
                    guard let number = batch.columns[column].integers[row] else {
                        bytes.append(0)
                        continue
                    }
                    bytes.append(1)
                    Self.append(number, to: &bytes)
                }
            }
        }
        nettle_sha256_update(&state, bytes.count, bytes)
        count += batch.count
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package var digest: FactDigest {
        var ending = state
        let bytes = [UInt8](unsafeUninitializedCapacity: 32) { space, count in
            nettle_sha256_digest(&ending, 32, space.baseAddress)
            count = 32
        }
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return FactDigest(count: count, sha256: digits)
    }
}
