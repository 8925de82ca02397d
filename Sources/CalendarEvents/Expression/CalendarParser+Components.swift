/// Parses lists of values, ranges and repetitions, and checks whether they can match.
extension CalendarParser {
    mutating func readChain(
        _ noun: String, isMicroseconds: Bool = false
    ) throws(CalendarProblem) -> Chain {
        if take("*") {
            if peek == UInt8(ascii: "/") {
                throw problem(index, "\"*\" cannot be followed by a repetition; write the first value, as in 0/5")
            }
            return nil
        }
        var chain: [Placed] = []
        while true {
            if chain.count == Self.maxComponents {
                throw problem(index, "expected at most \(Self.maxComponents) values in a list")
            }
            chain.append(try readComponent(noun, isMicroseconds))
            if !take(",") { return chain }
        }
    }

    private mutating func readComponent(_ noun: String, _ isMicroseconds: Bool) throws(CalendarProblem) -> Placed {
        let at = index
        var component = Component(start: try readValue(noun, isMicroseconds), last: nil, step: nil)
        if peek == UInt8(ascii: "."), peek(1) == UInt8(ascii: ".") {
            index += 2
            component.last = try readValue(noun, isMicroseconds)
            component.step = isMicroseconds ? Self.second : 1
        }
        if take("/") {
            let start = index
            let step = try readValue("repetition", isMicroseconds)
            if step == 0 { throw problem(start, "expected a repetition above zero, found 0") }
            component.step = step
        } else if isMicroseconds, let last = component.last, component.start + Self.second > last {
            throw problem(
                at,
                "a range of seconds must span at least one second; add a repetition such as /0.1 for a shorter range")
        }
        switch peek {
        case nil, UInt8(ascii: " "), UInt8(ascii: ","), UInt8(ascii: "-"), UInt8(ascii: "~"), UInt8(ascii: ":"): break
        default:
            throw problem(
                index, "expected \",\", \"..\", \"/\", \"-\", \"~\", \":\", a space or the end, found \(found(index))")
        }
        return (component, at)
    }

    private mutating func readValue(_ noun: String, _ isMicroseconds: Bool) throws(CalendarProblem) -> Int {
        let limit = Int(Int32.max)
        guard isMicroseconds else { return try readNumber(noun, limit: limit) }
        let start = index
        var value = try readNumber(noun, limit: limit / Self.second) * Self.second
        // Two dots begin the end of a range; a single dot begins a fraction.
        if peek == UInt8(ascii: "."), peek(1) != UInt8(ascii: ".") {
            index += 1
            value += try readFraction()
        }
        if value > limit { throw problem(start, "the number is too large") }
        return value
    }

    mutating func readNumber(_ noun: String, limit: Int) throws(CalendarProblem) -> Int {
        let start = index
        var value = 0
        while let digit = digit(peek) {
            value = value * 10 + digit
            if value > limit { throw problem(start, "the number is too large") }
            index += 1
        }
        if index == start {
            let article = "aeiou".contains(noun.prefix(1)) || noun.hasPrefix("hour") ? "an" : "a"
            let what = noun.hasPrefix("seconds") ? noun : "\(article) \(noun)"
            throw problem(index, "expected \(what), found \(found(index))")
        }
        return value
    }

    /// Reads six digits, rounded by the seventh.
    private mutating func readFraction() throws(CalendarProblem) -> Int {
        guard digit(peek) != nil else {
            throw problem(index, "expected digits after the decimal point, found \(found(index))")
        }
        var value = 0
        for _ in 0..<6 {
            value *= 10
            if let digit = digit(peek) {
                value += digit
                index += 1
            }
        }
        if let next = digit(peek), next >= 5 { value += 1 }
        while digit(peek) != nil { index += 1 }
        return value
    }

    // MARK: Values

    struct Part: Hashable {
        let range: ClosedRange<Int>
        /// The values as a message names them.
        let name: String

        static let year = Part(
            range: 1970...CalendarExpression.lastYear,
            name: "a year from 1970 to \(CalendarExpression.lastYear), or its last two digits")
        static let month = Part(range: 1...12, name: "a month from 1 to 12")
        static let day = Part(range: 1...31, name: "a day from 1 to 31")
        static let dayFromEnd = Part(range: 1...28, name: "a day from 1 (the last day of the month) to 28")
        static let hour = Part(range: 0...23, name: "an hour from 0 to 23")
        static let minute = Part(range: 0...59, name: "a minute from 0 to 59")
        static let second = Part(range: 0...59_999_999, name: "seconds from 0 to less than 60")
    }

    func values(_ chain: Chain, _ part: Part) throws(CalendarProblem) -> Values {
        guard let chain else { return .any }
        var components: [Component] = []
        for (component, at) in chain {
            var component = component
            if part == .year {
                component.start = Self.fullYear(component.start)
                component.last = component.last.map(Self.fullYear)
            }
            component.normalize()
            try check(component, part, at)
            components.append(component)
        }
        var unique: [Component] = []
        for component in components.sorted() where component != unique.last { unique.append(component) }
        return .list(unique)
    }

    /// Completes a two-digit year as systemd does: 12 is 2012, 89 is 1989.
    private static func fullYear(_ year: Int) -> Int {
        switch year {
        case 0..<70: 2000 + year
        case 70..<100: 1900 + year
        default: year
        }
    }

    private func check(_ component: Component, _ part: Part, _ at: Int) throws(CalendarProblem) {
        let range = part.range
        for value in [component.start, component.last].compactMap(\.self) where !range.contains(value) {
            throw problem(at, "expected \(part.name), found \(found(at))")
        }
        if let last = component.last, last < component.start {
            throw problem(at, "the range ends before it begins; write the smaller value first")
        }
        guard let step = component.step else { return }
        let isPossible =
            if let last = component.last {
                component.start + step <= last
            } else if part == .dayFromEnd {
                component.start - step >= range.lowerBound
            } else {
                component.start + step <= range.upperBound
            }
        if !isPossible || step > range.upperBound - range.lowerBound {
            throw problem(at, "the repetition never occurs; make it shorter or remove it")
        }
    }
}
