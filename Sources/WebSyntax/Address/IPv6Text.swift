/// The text form of IPv6 addresses, with the parser and the serializer of the URL standard. They follow RFC 5952,
/// except that the form with an embedded IPv4 address is parsed and never written.
enum IPv6Text {
    static func parse(_ input: [UInt8]) -> [UInt16]? {
        var pieces = [UInt16](repeating: 0, count: 8)
        var piece = 0
        var compress: Int?
        var at = 0
        func byte(_ offset: Int) -> UInt8? { offset < input.count ? input[offset] : nil }

        if byte(0) == UInt8(ascii: ":") {
            guard byte(1) == UInt8(ascii: ":") else { return nil }
            at = 2
            piece = 1
            compress = 1
        }
        while at < input.count {
            if piece == 8 { return nil }
            if byte(at) == UInt8(ascii: ":") {
                if compress != nil { return nil }
                at += 1
                piece += 1
                compress = piece
                continue
            }
            var value: UInt16 = 0
            var length = 0
            while length < 4, let character = byte(at), let digit = hexDigit(character) {
                value = value << 4 | UInt16(digit)
                at += 1
                length += 1
            }
            if byte(at) == UInt8(ascii: ".") {
                guard length > 0, piece <= 6, let embedded = parseEmbedded(input[(at - length)...]) else { return nil }
                pieces[piece] = UInt16(embedded >> 16)
                pieces[piece + 1] = UInt16(embedded & 0xFFFF)
                piece += 2
                break
            }
            if byte(at) == UInt8(ascii: ":") {
                at += 1
                if at == input.count { return nil }
            } else if at < input.count {
                return nil
            }
            if length == 0 { return nil }
            pieces[piece] = value
            piece += 1
        }
        if let compress {
            let moved = piece - compress
            let tail = Array(pieces[compress..<piece])
            for index in compress..<8 { pieces[index] = 0 }
            for (offset, value) in tail.enumerated() { pieces[8 - moved + offset] = value }
        } else if piece != 8 {
            return nil
        }
        return pieces
    }

    private static func parseEmbedded(_ text: ArraySlice<UInt8>) -> UInt32? {
        // `IPAddress` would parse a text with a colon as IPv6 again, and so recurse without end.
        guard !text.contains(UInt8(ascii: ":")), case .v4(let value) = IPAddress(String(decoding: text, as: UTF8.self))
        else { return nil }
        return value
    }

    static func format(_ pieces: [UInt16]) -> String {
        var longest = (start: 0, count: 1)
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, pieces[end] == 0 { end += 1 }
            if end - start > longest.count { longest = (start, end - start) }
            start = max(end, start + 1)
        }
        let text = pieces.map { String($0, radix: 16) }
        if longest.count < 2 { return text.joined(separator: ":") }
        let head = text[..<longest.start].joined(separator: ":")
        let tail = text[(longest.start + longest.count)...].joined(separator: ":")
        return head + "::" + tail
    }
}

@inlinable package func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
}
