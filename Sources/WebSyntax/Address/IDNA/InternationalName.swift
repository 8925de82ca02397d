@_spi(_Unicode) import Swift

/// Converts international domain names to ASCII as the URL standard requires: with nontransitional UTS 46, checking
/// bidirectional rules and joiners. It does not check hyphens and lengths, and does not restrict names to the
/// characters of host names.
///
/// So a host means the same as in a browser: `faß.de` is `xn--fa-hia.de`, and `☃.net` is a valid name.
enum InternationalName {
    private static let maxBytes = 2048

    /// - Returns: Nil where the standard specifies a failure. The result may still contain characters that are
    ///   forbidden in hosts.
    static func ascii(_ name: String) -> String? {
        // No name of this length can be looked up, and encoding takes quadratic time.
        if name.utf8.count > maxBytes { return nil }
        guard let mapped = mapped(name) else { return nil }
        var labels: [[Unicode.Scalar]] = []
        for label in mapped.split(separator: ".", omittingEmptySubsequences: false) {
            guard let label = unicodeLabel(label) else { return nil }
            labels.append(label)
        }
        guard Bidirectional.permits(labels) else { return nil }
        return labels.map { label in
            label.allSatisfy(\.isASCII)
                ? String(String.UnicodeScalarView(label)) : "xn--" + Punycode.encode(label)
        }.joined(separator: ".")
    }

    /// Maps each character, and normalizes the result.
    private static func mapped(_ name: String) -> [Unicode.Scalar]? {
        var mapped = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch IDNAStatus.table[scalar] {
            case .valid: mapped.append(scalar)
            case .ignored: break
            case .disallowed: return nil
            case .shifted(let distance):
                guard let target = Unicode.Scalar(UInt32(Int(scalar.value) + distance)) else { return nil }
                mapped.append(target)
            case .mapped(let target): mapped.append(contentsOf: target)
            }
        }
        return Array(String(mapped)._nfc)
    }

    /// Decodes a label if it is encoded. Returns nil if the label is invalid.
    private static func unicodeLabel(_ label: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar]? {
        guard label.starts(with: "xn--".unicodeScalars) else { return isValid(label) ? Array(label) : nil }
        guard label.allSatisfy(\.isASCII),
            let decoded = Punycode.decode(label.dropFirst(4).lazy.map { UInt8($0.value) }),
            // Refuses labels that need no encoding, or that were encoded twice.
            !decoded.allSatisfy(\.isASCII), !decoded.starts(with: "xn--".unicodeScalars),
            String(String.UnicodeScalarView(decoded))._nfc.elementsEqual(decoded), isValid(decoded[...])
        else { return nil }
        return decoded
    }

    private static func isValid(_ label: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = label.first else { return true }
        if [.nonspacingMark, .spacingMark, .enclosingMark].contains(first.properties.generalCategory) { return false }
        return label.allSatisfy {
            if case .valid = IDNAStatus.table[$0] { return $0 != "." }
            return false
        } && Joiners.areInPlace(Array(label))
    }
}

/// The rules for zero width joiners (RFC 5892, A.1 and A.2).
private enum Joiners {
    static func areInPlace(_ label: [Unicode.Scalar]) -> Bool {
        label.indices.allSatisfy { index in
            switch label[index] {
            case "\u{200D}": followsVirama(label, index)
            case "\u{200C}": followsVirama(label, index) || joins(label, index)
            default: true
            }
        }
    }

    private static func followsVirama(_ label: [Unicode.Scalar], _ index: Int) -> Bool {
        index > 0 && label[index - 1].properties.canonicalCombiningClass == .virama
    }

    /// Whether the character is between two characters that would join without it.
    private static func joins(_ label: [Unicode.Scalar], _ index: Int) -> Bool {
        let before = label[..<index].lazy.map { JoiningType.table[$0] }.last { $0 != .t }
        let after = label[(index + 1)...].lazy.map { JoiningType.table[$0] }.first { $0 != .t }
        return (before == .l || before == .d) && (after == .r || after == .d)
    }
}

/// The rule for names with characters that are written from right to left (RFC 5893, 2).
private enum Bidirectional {
    static func permits(_ labels: [[Unicode.Scalar]]) -> Bool {
        let classes = labels.map { $0.map { BidirectionalClass.table[$0] } }
        guard classes.contains(where: { $0.contains { [.r, .al, .an].contains($0) } }) else { return true }
        return classes.allSatisfy(permits)
    }

    private static func permits(_ label: [BidirectionalClass]) -> Bool {
        guard let first = label.first else { return true }
        let last = label.last { $0 != .nsm } ?? .nsm
        switch first {
        case .r, .al:
            return label.allSatisfy { ![.l, .other].contains($0) } && [.r, .al, .en, .an].contains(last)
                && !(label.contains(.en) && label.contains(.an))
        case .l:
            return label.allSatisfy { ![.r, .al, .an, .other].contains($0) } && [.l, .en].contains(last)
        default: return false
        }
    }
}
