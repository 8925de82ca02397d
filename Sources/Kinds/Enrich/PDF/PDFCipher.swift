import CNettle

/// The digests and ciphers that encrypted PDFs use.
enum PDFCipher {
    static func md5(_ bytes: [UInt8]) -> [UInt8] {
        var state = md5_ctx()
        nettle_md5_init(&state)
        nettle_md5_update(&state, bytes.count, bytes)
        return filled(16) { nettle_md5_digest(&state, 16, $0) }
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var state = sha256_ctx()
        nettle_sha256_init(&state)
        nettle_sha256_update(&state, bytes.count, bytes)
        return filled(32) { nettle_sha256_digest(&state, 32, $0) }
    }

    private static func sha384(_ bytes: [UInt8]) -> [UInt8] {
        var state = sha512_ctx()
        nettle_sha384_init(&state)
        nettle_sha512_update(&state, bytes.count, bytes)
        return filled(48) { nettle_sha384_digest(&state, 48, $0) }
    }

    private static func sha512(_ bytes: [UInt8]) -> [UInt8] {
        var state = sha512_ctx()
        nettle_sha512_init(&state)
        nettle_sha512_update(&state, bytes.count, bytes)
        return filled(64) { nettle_sha512_digest(&state, 64, $0) }
    }

    /// Encrypts or decrypts with RC4.
    ///
    /// - Parameter key: The key; it must not be empty.
    static func rc4(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var state = arcfour_ctx()
        nettle_arcfour_set_key(&state, key.count, key)
        return filled(bytes.count) { nettle_arcfour_crypt(&state, bytes.count, $0, bytes) }
    }

    /// Decrypts AES in CBC mode: an initialization vector, then padded data.
    ///
    /// - Parameter mayBeCut: Whether the end of the data, and thus the padding, may be missing.
    /// - Returns: Nil if the key does not have 16 or 32 bytes, or if the data cannot be the result of such an
    ///   encryption.
    static func decrypt(_ bytes: ArraySlice<UInt8>, key: [UInt8], mayBeCut: Bool) -> [UInt8]? {
        if bytes.isEmpty { return [] }
        guard bytes.count >= 16, mayBeCut || bytes.count % 16 == 0 else { return nil }
        let blocks = bytes.dropFirst(16)
        guard var plain = decryptBlocks(blocks.prefix(blocks.count & ~15), key: key, start: Array(bytes.prefix(16)))
        else { return nil }
        guard let padding = plain.last, (1...16).contains(padding),
            plain.suffix(Int(padding)).allSatisfy({ $0 == padding })
        else { return mayBeCut ? plain : nil }
        plain.removeLast(Int(padding))
        return plain
    }

    /// Decrypts AES in CBC mode without padding.
    ///
    /// - Parameter blocks: Complete blocks of 16 bytes.
    /// - Parameter start: The initialization vector.
    /// - Returns: Nil if the key does not have 16 or 32 bytes.
    static func decryptBlocks(_ blocks: ArraySlice<UInt8>, key: [UInt8], start: [UInt8]) -> [UInt8]? {
        let blocks = Array(blocks)
        var plain: [UInt8]
        switch key.count {
        case 16:
            var state = aes128_ctx()
            nettle_aes128_set_decrypt_key(&state, key)
            plain = filled(blocks.count) { nettle_aes128_decrypt(&state, blocks.count, $0, blocks) }
        case 32:
            var state = aes256_ctx()
            nettle_aes256_set_decrypt_key(&state, key)
            plain = filled(blocks.count) { nettle_aes256_decrypt(&state, blocks.count, $0, blocks) }
        default: return nil
        }
        for at in plain.indices { plain[at] ^= at < 16 ? start[at] : blocks[at - 16] }
        return plain
    }

    /// Computes the hash of the empty user password with algorithm 2.B, which takes at most 287 rounds.
    static func hardenedHash(_ salt: [UInt8]) -> [UInt8] {
        var key = sha256(salt)
        var round = 0
        while true {
            var block: [UInt8] = []
            for _ in 0..<64 { block += key }
            var state = aes128_ctx()
            nettle_aes128_set_encrypt_key(&state, Array(key[..<16]))
            var vector = Array(key[16..<32])
            let sealed = filled(block.count) { nettle_cbc_aes128_encrypt(&state, &vector, block.count, $0, block) }
            // The standard takes the first 16 bytes as a number modulo 3. As 256 modulo 3 is 1, the sum of the bytes
            // has the same remainder.
            switch sealed[..<16].reduce(0, { $0 + Int($1) }) % 3 {
            case 0: key = sha256(sealed)
            case 1: key = sha384(sealed)
            default: key = sha512(sealed)
            }
            round += 1
            if round >= 64, let last = sealed.last, Int(last) <= round - 32 { return Array(key[..<32]) }
        }
    }

    private static func filled(_ count: Int, _ fill: (UnsafeMutablePointer<UInt8>?) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { space, written in
            fill(space.baseAddress)
            written = count
        }
    }
}
