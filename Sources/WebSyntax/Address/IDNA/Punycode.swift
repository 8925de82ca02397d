/// The encoding of international labels in ASCII (RFC 3492), without the prefix `xn--`.
enum Punycode {
    private static let base = 36
    private static let tMin = 1
    private static let tMax = 26

    /// - Returns: Nil for an invalid encoding.
    static func decode(_ label: some Sequence<UInt8>) -> [Unicode.Scalar]? {
        let bytes = Array(label)
        var output: [Unicode.Scalar] = []
        var rest = bytes[...]
        if let hyphen = bytes.lastIndex(of: UInt8(ascii: "-")), hyphen > 0 {
            output = bytes[..<hyphen].map { Unicode.Scalar($0) }
            rest = bytes[(hyphen + 1)...]
        }
        var (point, index, bias) = (128, 0, 72)
        while !rest.isEmpty {
            let before = index
            var weight = 1
            var k = base
            while true {
                guard let byte = rest.popFirst(), let digit = value(of: byte) else { return nil }
                // In a valid label, the index stays below the number of code points times the length of the label.
                // Labels are short, so any number above this limit is an error.
                index += digit * weight
                if index > 1 << 40 { return nil }
                let threshold = min(max(k - bias, tMin), tMax)
                if digit < threshold { break }
                weight *= base - threshold
                if weight > 1 << 40 { return nil }
                k += base
            }
            let count = output.count + 1
            bias = adapted(index - before, count, isFirst: before == 0)
            point += index / count
            index %= count
            guard let scalar = UInt32(exactly: point).flatMap({ Unicode.Scalar($0) }) else { return nil }
            output.insert(scalar, at: index)
            index += 1
        }
        return output
    }

    static func encode(_ label: [Unicode.Scalar]) -> String {
        var output = String(String.UnicodeScalarView(label.filter(\.isASCII)))
        var handled = output.utf8.count
        let basic = handled
        if basic > 0 { output += "-" }
        var (point, delta, bias) = (128, 0, 72)
        while handled < label.count {
            let next = label.reduce(Int.max) { $1.value >= point ? min($0, Int($1.value)) : $0 }
            delta += (next - point) * (handled + 1)
            point = next
            for scalar in label {
                if scalar.value < point { delta += 1 }
                guard scalar.value == point else { continue }
                var rest = delta
                var k = base
                while true {
                    let threshold = min(max(k - bias, tMin), tMax)
                    if rest < threshold { break }
                    output.append(digit(threshold + (rest - threshold) % (base - threshold)))
                    rest = (rest - threshold) / (base - threshold)
                    k += base
                }
                output.append(digit(rest))
                bias = adapted(delta, handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta += 1
            point += 1
        }
        return output
    }

    private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var k = 0
        while delta > (base - tMin) * tMax / 2 {
            delta /= base - tMin
            k += base
        }
        return k + (base - tMin + 1) * delta / (delta + 38)
    }

    private static func value(of byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30 + 26
        case 0x41...0x5A: Int(byte) - 0x41
        case 0x61...0x7A: Int(byte) - 0x61
        default: nil
        }
    }

    private static func digit(_ value: Int) -> Character {
        Character(Unicode.Scalar(UInt8(value < 26 ? 0x61 + value : 0x30 + value - 26)))
    }
}
