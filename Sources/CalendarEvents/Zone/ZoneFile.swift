import CivilCalendar

/// A compiled time zone file (RFC 8536, versions 1 to 4). The footer contains the rule for the years after the table.
struct ZoneFile {
    struct Problem: Error {
        let reason: String
    }

    private let bytes: [UInt8]
    private var index = 0

    private struct Header {
        var version: UInt8
        var isUT = 0
        var isStandard = 0
        var leapSeconds = 0
        var times = 0
        var types = 0
        var characters = 0
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func zone(named name: String) throws(Problem) -> Zone {
        let first = try readHeader()
        if first.version == 0 { return try readData(first, timeSize: 4).zone(named: name, rule: nil) }
        // The first block repeats the data that fits in 32 bits, for old programs.
        index +=
            first.times * 5 + first.types * 6 + first.characters + first.leapSeconds * 8 + first.isStandard
            + first.isUT
        let data = try readData(readHeader(), timeSize: 8)
        return data.zone(named: name, rule: try readFooter())
    }

    private mutating func readHeader() throws(Problem) -> Header {
        guard try Array(take(4)) == Array("TZif".utf8) else { throw Problem(reason: "it is not a time zone file") }
        var header = Header(version: try take(1).first ?? 0)
        _ = try take(15)
        header.isUT = try count()
        header.isStandard = try count()
        header.leapSeconds = try count()
        header.times = try count()
        header.types = try count()
        header.characters = try count()
        if header.types == 0 { throw Problem(reason: "it contains no offset") }
        if header.leapSeconds > 0 {
            throw Problem(reason: "it counts leap seconds, but this system's clock does not")
        }
        return header
    }

    private struct Contents {
        var transitions: [(at: Int, Int)]
        var periods: [Zone.Period]

        func zone(named name: String, rule: ZoneRule?) -> Zone {
            var changes = transitions.map { (at: $0.at, periods[$0.1]) }
            if let rule {
                let last = changes.last?.at ?? 0
                let year = min(CivilDate(daysSince1970: floorDivide(last, 86_400)).year, CalendarExpression.lastYear)
                changes += rule.changes(fromYear: year - 1).filter { $0.at > last }
            }
            return Zone(name: name, initial: periods[0], changes)
        }
    }

    private mutating func readData(_ header: Header, timeSize: Int) throws(Problem) -> Contents {
        var times: [Int] = []
        for _ in 0..<header.times { times.append(try integer(timeSize)) }
        let kinds = try take(header.times).map(Int.init)
        var raw: [(offset: Int, isDaylight: Bool, name: Int)] = []
        for _ in 0..<header.types {
            let offset = try integer(4)
            if abs(offset) > 93_599 { throw Problem(reason: "it contains an offset of more than a day") }
            let rest = Array(try take(2))
            raw.append((offset, rest[0] != 0, Int(rest[1])))
        }
        let names = Array(try take(header.characters))
        _ = try take(header.isStandard + header.isUT)
        guard zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }), times.allSatisfy({ $0.magnitude < 1 << 60 }),
            kinds.allSatisfy({ $0 < raw.count }),
            raw.allSatisfy({ $0.name < names.count })
        else { throw Problem(reason: "its table is damaged") }
        let periods = raw.map { type in
            Zone.Period(
                offset: type.offset, isDaylight: type.isDaylight,
                abbreviation: String(decoding: names[type.name...].prefix { $0 != 0 }, as: UTF8.self))
        }
        return Contents(transitions: Array(zip(times, kinds)).map { (at: $0, $1) }, periods: periods)
    }

    private mutating func readFooter() throws(Problem) -> ZoneRule? {
        let newline = UInt8(ascii: "\n")
        guard index < bytes.count, bytes[index] == newline,
            let end = bytes[(index + 1)...].firstIndex(of: newline)
        else { throw Problem(reason: "its end is missing") }
        let text = String(decoding: bytes[(index + 1)..<end], as: UTF8.self)
        if text.isEmpty { return nil }
        guard let rule = ZoneRule(text) else { throw Problem(reason: "its rule \"\(text)\" is invalid") }
        return rule
    }

    // MARK: Reading

    private mutating func take(_ count: Int) throws(Problem) -> ArraySlice<UInt8> {
        guard count <= bytes.count - index else { throw Problem(reason: "it is truncated") }
        defer { index += count }
        return bytes[index..<index + count]
    }

    private mutating func integer(_ size: Int) throws(Problem) -> Int {
        let value = try take(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return size == 4 ? Int(Int32(truncatingIfNeeded: value)) : Int(Int64(truncatingIfNeeded: value))
    }

    private mutating func count() throws(Problem) -> Int {
        let value = try integer(4)
        // A larger number cannot be valid, because the file would be too small for it.
        guard (0...bytes.count).contains(value) else { throw Problem(reason: "it is truncated") }
        return value
    }
}
