/// Expressions from the manual page, edge cases, and random ones.
enum Expressions {
    /// Expressions with their normalized form, from systemd.time(7) and the output of `systemd-analyze` 252.
    static let normalized: [(String, String)] = [
        ("Sat,Thu,Mon..Wed,Sat..Sun", "Mon..Thu,Sat,Sun *-*-* 00:00:00"),
        ("Mon,Sun 12-*-* 2,1:23", "Mon,Sun 2012-*-* 01,02:23:00"),
        ("Wed *-1", "Wed *-*-01 00:00:00"),
        ("Wed..Wed,Wed *-1", "Wed *-*-01 00:00:00"),
        ("Wed, 17:48", "Wed *-*-* 17:48:00"),
        ("Wed..Sat,Tue 12-10-15 1:2:3", "Tue..Sat 2012-10-15 01:02:03"),
        ("*-*-7 0:0:0", "*-*-07 00:00:00"),
        ("10-15", "*-10-15 00:00:00"),
        ("monday *-12-* 17:00", "Mon *-12-* 17:00:00"),
        ("Mon,Fri *-*-3,1,2 *:30:45", "Mon,Fri *-*-01,02,03 *:30:45"),
        ("12,14,13,12:20,10,30", "*-*-* 12,13,14:10,20,30:00"),
        ("12..14:10,20,30", "*-*-* 12..14:10,20,30:00"),
        ("mon,fri *-1/2-1,3 *:30:45", "Mon,Fri *-01/2-01,03 *:30:45"),
        ("03-05 08:05:40", "*-03-05 08:05:40"),
        ("08:05:40", "*-*-* 08:05:40"),
        ("05:40", "*-*-* 05:40:00"),
        ("Sat,Sun 12-05 08:05:40", "Sat,Sun *-12-05 08:05:40"),
        ("Sat,Sun 08:05:40", "Sat,Sun *-*-* 08:05:40"),
        ("2003-03-05 05:40", "2003-03-05 05:40:00"),
        ("05:40:23.4200004/3.1700005", "*-*-* 05:40:23.420000/3.170001"),
        ("2003-02..04-05", "2003-02..04-05 00:00:00"),
        ("2003-03-05 05:40 UTC", "2003-03-05 05:40:00 UTC"),
        ("2003-03-05", "2003-03-05 00:00:00"),
        ("03-05", "*-03-05 00:00:00"),
        ("minutely", "*-*-* *:*:00"),
        ("hourly", "*-*-* *:00:00"),
        ("daily", "*-*-* 00:00:00"),
        ("daily UTC", "*-*-* 00:00:00 UTC"),
        ("monthly", "*-*-01 00:00:00"),
        ("weekly", "Mon *-*-* 00:00:00"),
        ("weekly Pacific/Auckland", "Mon *-*-* 00:00:00 Pacific/Auckland"),
        ("yearly", "*-01-01 00:00:00"),
        ("annually", "*-01-01 00:00:00"),
        ("anually", "*-01-01 00:00:00"),
        ("quarterly", "*-01,04,07,10-01 00:00:00"),
        ("semiannually", "*-01,07-01 00:00:00"),
        ("bi-annually", "*-01,07-01 00:00:00"),
        ("Hourly utc", "*-*-* *:00:00 UTC"),
        ("*:2/3", "*-*-* *:02/3:00"),
        ("*-02~03", "*-02~03 00:00:00"),
        ("Mon *-05~07/1", "Mon *-05~07/1 00:00:00"),
        ("*-*~01..07/2", "*-*~01..07/2 00:00:00"),
        ("*-*~*", "*-*-* 00:00:00"),
        ("02~1,3", "*-02~01,03 00:00:00"),
        ("*:*:1.5..20", "*-*-* *:*:01.500000..19.500000"),
        ("*:*:*", "*-*-* *:*:*"),
        ("*:*:00/1", "*-*-* *:*:*"),
        ("*:*:0..30", "*-*-* *:*:00..30"),
        ("*:*:0..0.5/0.1", "*-*-* *:*:00..00.500000/0.100000"),
        ("*:*:10..20/5,3", "*-*-* *:*:03,10..20/5"),
        ("10:00:00.9999999", "*-*-* 10:00:01"),
        ("*-*-* 00:00:00.5/7.25", "*-*-* 00:00:00.500000/7.250000"),
        ("Mon-Wed 12:00", "Mon..Wed *-*-* 12:00:00"),
        ("mon..sun 12:00", "*-*-* 12:00:00"),
        ("Mon,Tue,", "Mon,Tue *-*-* 00:00:00"),
        ("Sun  *-*-1   1:2", "Sun *-*-01 01:02:00"),
        ("69-1-1", "2069-01-01 00:00:00"),
        ("89..12-1-1", "1989..2012-01-01 00:00:00"),
        ("0..23/5:0", "*-*-* 00..20/5:00:00"),
        ("3..4/5:0", "*-*-* 03:00:00"),
        ("@1234567890", "2009-02-13 23:31:30 UTC"),
        ("Mon @0", "Mon 1970-01-01 00:00:00 UTC"),
        (list(of: 241), "*-*-* *:*:05"),
    ]

    static func list(of count: Int) -> String { "*:*:" + Array(repeating: "5", count: count).joined(separator: ",") }

    static let refused = [
        "", " ", "UTC", " UTC", "foo", "Monn", "Mond 12:00", "Mon Tue", "Mon..", "Mon...Tue", "Mon..Tue..Wed",
        "Fri..Mon",
        "Mon,,Tue", "Mon.12:00", "Mon.. 12:00", "mon..sun 12", "12", "12:", ":30", "25:00", "24:00", "12:60",
        "12:00:60",
        "12:00:59.9999999", "12:00:", "12:00 ", " 12:00", "12:00:00:00", "12:00:00.", "12.5:00", "12:00:00/0",
        "*:0/60", "0/24:0", "*/5:00", "*:*/5", "*-*-* */2:00", "5..3:00", "12:00:05..05.5", "12:00:05..04/1",
        "2020-13-01", "2020-00-01", "2020-01-32", "2020-01-00", "*-*~29", "*-*~00", "*-*~07/8", "*~1/1", "*-*~7..3",
        "1969-01-01", "2200-01-01", "200-01-01", "2020-01", "2020-01-01-01", "2020-01-01 x", "2020~01-01", "2020~01~01",
        "2020-01-01T00:00", "2020/01/01", "*-1-1/31", "1-2-", "-1-2", "--", "@", "@x", "@12 ", "@99999999999999",
        "99999999999-1-1", "daily daily", "daily 12:00", "daily Nowhere/City", "daily UTC UTC", "12:00 Europe/",
        "12:00 /etc/passwd", "12:00 ../../etc/passwd", "12:00 Europe//Berlin", "12:00 europe/berlin", "12:00 CEST",
        "1,:00", ",1:00", "1,,2:00", "1..:00", "1../2:00", "1/:00", "1/-2:00", "+1:00", "0x1:00", "１:00", "Mö 12:00",
        list(of: 242),
    ]

    /// Generates expressions of every shape of the grammar, some with one changed character.
    ///
    /// Excludes what systemd 252 gets wrong according to its own manual page. A repetition without an end (`03/9:25`)
    /// misses times after the end of a month, or all times where clocks change, so repetitions have an explicit end
    /// with the same meaning. Lists of days from the month's end are refused from the 26th, the 23rd and so on,
    /// depending on their length.
    static func random(_ count: Int, seed: UInt64) -> [String] {
        var random = Drawing(seed: seed)
        return (0..<count).map { _ in
            let text = expression(&random)
            return random.one(in: 8) ? random.spoil(text) : text
        }
    }

    private static func expression(_ random: inout Drawing) -> String {
        if random.one(in: 12) {
            return random.element([
                "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "yearly",
            ])
                + zone(&random)
        }
        var parts: [String] = []
        if random.one(in: 3) { parts.append(weekdays(&random)) }
        let hasDate = random.one(in: 2)
        if hasDate { parts.append(date(&random)) }
        if !hasDate || random.one(in: 2) { parts.append(time(&random)) }
        return parts.joined(separator: " ") + zone(&random)
    }

    private static func zone(_ random: inout Drawing) -> String {
        guard random.one(in: 5) else { return "" }
        return random.element([" UTC", " Europe/Berlin", " America/New_York", " Asia/Kolkata", " Australia/Lord_Howe"])
    }

    private static func weekdays(_ random: inout Drawing) -> String {
        let names = ["Mon", "Tue", "wednesday", "Thu", "Friday", "Sat", "SUN"]
        return (0...random.below(2)).map { _ in
            let first = random.below(7)
            guard random.one(in: 3) else { return names[first] }
            return names[first] + ".." + names[first + random.below(7 - first)]
        }.joined(separator: ",")
    }

    private static func date(_ random: inout Drawing) -> String {
        let isFromEnd = random.one(in: 6)
        let day = values(isFromEnd ? 1...19 : 1...31, &random)
        let separator = isFromEnd ? "~" : "-"
        let month = values(1...12, &random)
        guard random.one(in: 2) else { return month + separator + day }
        let year = random.one(in: 2) ? "*" : values(2024...2032, &random)
        return year + "-" + month + separator + day
    }

    private static func time(_ random: inout Drawing) -> String {
        let start = values(0...23, &random) + ":" + values(0...59, &random)
        guard random.one(in: 2) else { return start }
        let seconds = values(0...59, &random)
        return start + ":" + (random.one(in: 4) && seconds != "*" ? seconds + ".\(random.below(1_000_0000))" : seconds)
    }

    private static func values(_ range: ClosedRange<Int>, _ random: inout Drawing) -> String {
        if random.one(in: 3) { return "*" }
        func value() -> Int { range.lowerBound + random.below(range.count) }
        return (0...(random.one(in: 3) ? random.below(3) : 0)).map { _ in
            let first = value()
            switch random.below(4) {
            case 0: return "\(first)..\(max(first, value()))"
            case 1: return "\(first)..\(range.upperBound)/\(1 + random.below(9))"
            case 2: return "\(first)..\(max(first, value()))/\(1 + random.below(9))"
            default: return random.one(in: 2) ? "\(first)" : (first < 10 ? "0\(first)" : "\(first)")
            }
        }.joined(separator: ",")
    }
}

/// The SplitMix64 generator.
struct Drawing: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    mutating func one(in count: Int) -> Bool { below(count) == 0 }
    mutating func element(_ list: [String]) -> String { list[below(list.count)] }

    mutating func spoil(_ text: String) -> String {
        var characters = Array(text)
        let place = below(characters.count)
        switch below(3) {
        case 0: characters.remove(at: place)
        case 1: characters[place] = element(Array("0123456789*:-~/., @xM").map(String.init)).first ?? "x"
        default: characters.insert(characters[place], at: place)
        }
        return String(characters)
    }
}
