import CLinux
import Glibc
import Synchronization

/// The upper half of an encoding of one byte a character.
struct SingleByteTable: Sendable {
    /// The UTF-8 of 0x80 to 0xFF.
    private let upper: [[UInt8]]

    func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 4)
        for byte in bytes {
            if byte < 0x80 { output.append(byte) } else { output.append(contentsOf: upper[Int(byte) - 0x80]) }
        }
        return output
    }

    private static let cache = Mutex<[String: SingleByteTable]>([:])

    /// Nil when the encoding has more than one byte a character.
    static func of(_ name: String) -> SingleByteTable? {
        guard let system = systemNames[name] else { return nil }
        return cache.withLock { cache in
            if let table = cache[name] { return table }
            let keepsControls = name.hasPrefix("windows-")
            let upper = (UInt8(0x80)...0xFF).map { byte -> [UInt8] in
                if let decoded = SystemDecoder.decodeOne(byte, from: system) { return decoded }
                // The standard's Windows tables have no holes below 0xA0: those bytes are the C1 controls.
                let scalar = keepsControls && byte < 0xA0 ? Unicode.Scalar(byte) : "\u{FFFD}"
                return Array(String(Character(scalar)).utf8)
            }
            let table = SingleByteTable(upper: upper)
            cache[name] = table
            return table
        }
    }

    /// The Encoding standard's name to the C library's.
    private static let systemNames: [String: String] = [
        "windows-1252": "CP1252", "windows-1250": "CP1250", "windows-1251": "CP1251", "windows-1253": "CP1253",
        "windows-1254": "CP1254", "windows-1255": "CP1255", "windows-1256": "CP1256", "windows-1257": "CP1257",
        "windows-1258": "CP1258", "windows-874": "CP874", "iso-8859-2": "ISO-8859-2", "iso-8859-3": "ISO-8859-3",
        "iso-8859-4": "ISO-8859-4", "iso-8859-5": "ISO-8859-5", "iso-8859-6": "ISO-8859-6", "iso-8859-7": "ISO-8859-7",
        "iso-8859-8": "ISO-8859-8", "iso-8859-8-i": "ISO-8859-8", "iso-8859-10": "ISO-8859-10",
        "iso-8859-13": "ISO-8859-13",
        "iso-8859-14": "ISO-8859-14", "iso-8859-15": "ISO-8859-15", "iso-8859-16": "ISO-8859-16", "koi8-r": "KOI8-R",
        "koi8-u": "KOI8-U", "macintosh": "MACINTOSH", "ibm866": "IBM866", "x-mac-cyrillic": "MAC-UK",
    ]
}

/// The C library's converter, for encodings of several bytes a character.
enum SystemDecoder {
    private static let names: [String: String] = [
        "gbk": "GB18030", "gb18030": "GB18030", "big5": "BIG5-HKSCS", "euc-jp": "EUC-JP-MS",
        "iso-2022-jp": "ISO-2022-JP-2",
        "shift_jis": "CP932", "euc-kr": "UHC",
    ]

    static func decode(_ bytes: ArraySlice<UInt8>, from name: String) -> [UInt8]? {
        guard let system = names[name] else { return nil }
        return convert(Array(bytes), from: system, replacing: true)
    }

    static func decodeOne(_ byte: UInt8, from system: String) -> [UInt8]? {
        convert([byte], from: system, replacing: false)
    }

    private static func convert(_ bytes: [UInt8], from system: String, replacing: Bool) -> [UInt8]? {
        guard let converter = iconv_open("UTF-8", system), Int(bitPattern: converter) != -1 else { return nil }
        defer { iconv_close(converter) }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count * 3 / 2)
        var input = bytes.map { CChar(bitPattern: $0) }
        var space = [CChar](repeating: 0, count: 32 << 10)
        let isWhole = input.withUnsafeMutableBufferPointer { source in
            space.withUnsafeMutableBufferPointer { target in
                var next = source.baseAddress
                var left = source.count
                while left > 0 {
                    var free = target.count
                    var write = target.baseAddress
                    let status = iconv(converter, &next, &left, &write, &free)
                    output.append(contentsOf: target[..<(target.count - free)].lazy.map { UInt8(bitPattern: $0) })
                    if status != Int.max, status != -1 { continue }
                    if errno == E2BIG { continue }
                    guard replacing, left > 0 else { return false }
                    output += [0xEF, 0xBF, 0xBD]
                    next = next.map { $0 + 1 }
                    left -= 1
                }
                return true
            }
        }
        return isWhole ? output : nil
    }
}
