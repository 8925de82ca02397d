import CLibXML2

/// Decodes character references that remain in text that was escaped twice.
enum Entities {
    static func decode(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var output = ""
        var rest = Substring(text)
        while let mark = rest.firstIndex(of: "&") {
            output += rest[..<mark]
            rest = rest[mark...]
            let name = rest.dropFirst().prefix(32).prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "#") }
            let end = rest.index(rest.startIndex, offsetBy: 1 + name.count)
            if !name.isEmpty, end < rest.endIndex, rest[end] == ";", let scalar = scalar(String(name)) {
                output.unicodeScalars.append(scalar)
                rest = rest[rest.index(after: end)...]
            } else if end == rest.endIndex || rest[end] != "=", let scalar = oldest(String(name)) {
                output.unicodeScalars.append(scalar)
                rest = rest[end...]
            } else {
                output += "&"
                rest = rest.dropFirst()
            }
        }
        return output + rest
    }

    private static func scalar(_ name: String) -> Unicode.Scalar? {
        if name.hasPrefix("#x") || name.hasPrefix("#X") {
            return UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        }
        if name.hasPrefix("#") { return UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init) }
        guard let entity = htmlEntityLookup(name) else { return newer[name] }
        return Unicode.Scalar(entity.pointee.value)
    }

    /// Returns the character of a name that needs no semicolon: the names of Latin-1 characters and of `"`, `&`, `<`
    /// and `>` (HTML standard, 13.5).
    private static func oldest(_ name: String) -> Unicode.Scalar? {
        guard let value = htmlEntityLookup(name)?.pointee.value,
            (0xA0...0xFF).contains(value) || [0x22, 0x26, 0x3C, 0x3E].contains(value)
        else { return nil }
        return Unicode.Scalar(value)
    }

    /// Names that HTML 5 added. The table contains only those that occur on real pages.
    private static let newer: [String: Unicode.Scalar] = [
        "apos": "'", "period": ".", "comma": ",", "colon": ":", "semi": ";", "excl": "!", "quest": "?", "lpar": "(",
        "rpar": ")",
        "lsqb": "[", "rsqb": "]", "num": "#", "percnt": "%", "ast": "*", "sol": "/", "commat": "@", "dollar": "$",
        "plus": "+",
        "equals": "=", "lowbar": "_", "NewLine": "\n", "Tab": "\t", "rsquor": "\u{2019}", "hyphen": "\u{2010}",
        "dash": "\u{2010}",
        "verbar": "|", "vert": "|", "grave": "`",
    ]
}
