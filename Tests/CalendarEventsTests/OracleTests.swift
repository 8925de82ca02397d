import Testing

@testable import CalendarEvents

/// `systemd-analyze` accepts, normalizes and evaluates every expression as this module does.
@Suite(.enabled(if: Analyze.isHere, "systemd-analyze is not installed")) struct OracleTests {
    /// Zones with critical base times: before clock changes in either direction, and before a leap day.
    static let places: [(zone: String, bases: [Int])] = [
        ("UTC", [1_709_078_400, 1_774_656_000, 1_792_843_200]),
        ("Europe/Berlin", [1_709_078_400, 1_774_735_800, 1_792_879_800]),
        ("America/New_York", [1_709_078_400, 1_772_928_000, 1_793_491_200]),
    ]

    @Test(arguments: places.flatMap { place in place.bases.map { (place.zone, $0) } })
    func expressionsComeWhenSystemdSays(zone: String, base: Int) async throws {
        let seed = UInt64.random(in: 0..<1_000_000)
        let expressions =
            Expressions.normalized.map(\.0) + Expressions.refused.filter { !$0.hasPrefix(" ") && !$0.hasSuffix(" ") }
            + Expressions.random(400, seed: seed)
        let answers = try await Analyze.answers(expressions, zone: zone, base: base, iterations: 12)
        let local = try Zone(named: zone)
        var accepted = 0
        for (expression, answer) in zip(expressions, answers) {
            let ours = Self.answer(expression, local: local, base: base, iterations: 12)
            // For an abbreviation, systemd 252 finds no time after the next clock change.
            if expression.hasSuffix(" CEST") { continue }
            #expect(
                ours == (try answer.map { try Self.firstOfTwo($0, local: local) }),
                "\(expression) in \(zone) from \(base), seed \(seed)")
            if answer != nil { accepted += 1 }
        }
        #expect(accepted > 300)
    }

    /// For a local time that occurs twice, systemd returns either one, depending on earlier calls to the C library.
    private static func firstOfTwo(_ answer: Analyze.Answer, local: Zone) throws -> Analyze.Answer {
        let zone: Zone =
            switch try CalendarExpression(answer.normalized).zone {
            case .local: local
            case .utc: .utc
            case .named(let name): try Zone(named: name)
            }
        var answer = answer
        answer.times = answer.times.map { time in
            let wall = zone.wall(at: time * 1_000_000)
            return [3600, 1800].first { zone.wall(at: (time - $0) * 1_000_000) == wall }.map { time - $0 } ?? time
        }
        return answer
    }

    static func answer(_ text: String, local: Zone, base: Int, iterations: Int) -> Analyze.Answer? {
        do {
            let expression = try CalendarExpression(text)
            let times = try CalendarTimes([expression], local: local)
            var found: [Int] = []
            var moment = base * 1_000_000
            while found.count < iterations, let next = times.next(after: moment) {
                found.append(next / 1_000_000)
                moment = next
            }
            return Analyze.Answer(normalized: expression.description, times: found)
        } catch {
            return nil
        }
    }
}
