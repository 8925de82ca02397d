/// Decrypts files that the standard security handler encrypted and the empty user password opens (ISO 32000-2, 7.6).
struct PDFDecryption {
    enum Method {
        case identity, rc4, aes
    }

    /// The file's key; nil if the empty password is wrong or the encryption is not supported.
    private let key: [UInt8]?
    /// Whether each object has its own key. From version 5 on, all objects use the file's key.
    private let hasObjectKeys: Bool
    /// How strings are encrypted; nil if the method is not supported.
    private let strings: Method?
    /// How streams are encrypted; nil if the method is not supported.
    private let streams: Method?
    /// The methods, by the names that streams use for them.
    private let named: [String: Method]
    private let encryptsMetadata: Bool

    /// Prepares the decryption of a file and computes its key.
    ///
    /// - Parameter encryption: The encryption dictionary.
    /// - Parameter id: The first string of the trailer's identifier.
    init(_ encryption: PDFDictionary, id: [UInt8]) {
        let isStandard = encryption["Filter"]?.name == "Standard"
        let version = encryption["V"]?.integer ?? 0
        encryptsMetadata = version < 4 || encryption["EncryptMetadata"]?.boolean ?? true
        hasObjectKeys = version < 5
        switch version {
        case 1, 2: (named, strings, streams) = ([:], .rc4, .rc4)
        case 4, 5:
            let filters = (encryption["CF"]?.dictionary ?? [:]).compactMapValues { Self.method($0.dictionary?["CFM"]) }
            let named = filters.merging(["Identity": .identity]) { _, standard in standard }
            strings = named[encryption["StrF"]?.name ?? "Identity"]
            streams = named[encryption["StmF"]?.name ?? "Identity"]
            self.named = named
        default: (named, strings, streams) = ([:], nil, nil)
        }
        key =
            switch (version, encryption["R"]?.integer ?? 0) {
            case (5, let revision) where isStandard && (5...6).contains(revision): Self.newKey(encryption, revision)
            case (1...4, let revision) where isStandard && (2...4).contains(revision):
                Self.oldKey(encryption, revision, id, encryptsMetadata)
            default: nil
            }
    }

    private static func method(_ name: PDFObject?) -> Method? {
        switch name?.name {
        case nil, "None": .identity
        case "V2": .rc4
        case "AESV2", "AESV3": .aes
        default: nil
        }
    }

    /// The bytes with which the standard pads a short password.
    private static let padding: [UInt8] = [
        0x28, 0xBF, 0x4E, 0x5E, 0x4E, 0x75, 0x8A, 0x41, 0x64, 0x00, 0x4E, 0x56, 0xFF, 0xFA, 0x01, 0x08,
        0x2E, 0x2E, 0x00, 0xB6, 0xD0, 0x68, 0x3E, 0x80, 0x2F, 0x0C, 0xA9, 0xFE, 0x64, 0x53, 0x69, 0x7A,
    ]

    /// Computes the file's key with algorithms 2, 4 and 5. Some files state a wrong key length, so the check value
    /// decides which of several lengths is right.
    private static func oldKey(
        _ encryption: PDFDictionary, _ revision: Int, _ id: [UInt8], _ encryptsMetadata: Bool
    ) -> [UInt8]? {
        guard let owner = encryption["O"]?.string, let check = encryption["U"]?.string, check.count >= 16,
            let permissions = encryption["P"]?.integer
        else { return nil }
        let permissionBytes = (0..<4).map { UInt8(truncatingIfNeeded: permissions >> (8 * $0)) }
        let start = padding + owner.prefix(32) + permissionBytes + id
        let digest = PDFCipher.md5(start + (encryptsMetadata ? [] : [0xFF, 0xFF, 0xFF, 0xFF]))
        for length in Set([5, 16, (encryption["Length"]?.integer ?? 40) / 8]) where (5...16).contains(length) {
            var key = digest
            if revision >= 3 { for _ in 0..<50 { key = PDFCipher.md5(Array(key.prefix(length))) } }
            key = Array(key.prefix(length))
            if revision == 2 {
                if PDFCipher.rc4(padding, key: key).elementsEqual(check.prefix(32)) { return key }
            } else {
                var value = PDFCipher.md5(padding + id)
                for round in 0..<20 as Range<UInt8> { value = PDFCipher.rc4(value, key: key.map { $0 ^ round }) }
                if value.elementsEqual(check.prefix(16)) { return key }
            }
        }
        return nil
    }

    /// Computes the file's key with algorithm 2.A, from the user password.
    private static func newKey(_ encryption: PDFDictionary, _ revision: Int) -> [UInt8]? {
        guard let check = encryption["U"]?.string, check.count >= 48, let sealed = encryption["UE"]?.string,
            sealed.count >= 32
        else { return nil }
        func hash(_ salt: ArraySlice<UInt8>) -> [UInt8] {
            revision == 5 ? PDFCipher.sha256(Array(salt)) : PDFCipher.hardenedHash(Array(salt))
        }
        guard hash(check[32..<40]).elementsEqual(check.prefix(32)) else { return nil }
        return PDFCipher.decryptBlocks(
            sealed.prefix(32), key: hash(check[40..<48]), start: [UInt8](repeating: 0, count: 16))
    }

    /// Decrypts a string.
    ///
    /// - Parameter id: The object that contains the string.
    /// - Returns: Nil if the string cannot be decrypted.
    func decrypt(string: [UInt8], of id: PDFObjectID) -> [UInt8]? {
        decrypt(string[...], of: id, by: strings, mayBeCut: false)
    }

    /// Decrypts the data of a stream.
    ///
    /// - Parameter dictionary: The stream's dictionary, with references in its filters resolved.
    /// - Returns: Nil if the data cannot be decrypted.
    func decrypt(_ data: ArraySlice<UInt8>, of id: PDFObjectID, _ dictionary: PDFDictionary) -> [UInt8]? {
        if dictionary["Type"]?.name == "Metadata", !encryptsMetadata { return Array(data) }
        let filter = dictionary["Filter"]?.array?.first ?? dictionary["Filter"]
        guard filter?.name == "Crypt" else { return decrypt(data, of: id, by: streams, mayBeCut: true) }
        let parameters = dictionary["DecodeParms"]?.array?.first ?? dictionary["DecodeParms"]
        return decrypt(data, of: id, by: named[parameters?.dictionary?["Name"]?.name ?? "Identity"], mayBeCut: true)
    }

    private func decrypt(
        _ data: ArraySlice<UInt8>, of id: PDFObjectID, by method: Method?, mayBeCut: Bool
    ) -> [UInt8]? {
        if method == .identity { return Array(data) }
        guard let key, let method else { return nil }
        let salt = method == .aes ? Array("sAlT".utf8) : []
        let objectKey = hasObjectKeys ? Self.objectKey(key, id, salt) : key
        guard method == .aes else { return PDFCipher.rc4(Array(data), key: objectKey) }
        return PDFCipher.decrypt(data, key: objectKey, mayBeCut: mayBeCut)
    }

    /// Computes the key of one object with algorithm 1.
    private static func objectKey(_ key: [UInt8], _ id: PDFObjectID, _ salt: [UInt8]) -> [UInt8] {
        let number = (0..<3).map { UInt8(truncatingIfNeeded: id.number >> (8 * $0)) }
        let generation = (0..<2).map { UInt8(truncatingIfNeeded: id.generation >> (8 * $0)) }
        return Array(PDFCipher.md5(key + number + generation + salt).prefix(min(16, key.count + 5)))
    }
}
