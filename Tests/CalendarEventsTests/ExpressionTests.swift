import CalendarEvents
import Testing

@Suite struct ExpressionTests {
    @Test(arguments: Expressions.normalized)
    func textIsNormalized(_ text: String, normalized: String) throws {
        let expression = try CalendarExpression(text)
        #expect(expression.description == normalized)
        #expect(try CalendarExpression(normalized) == expression)
    }

    @Test(arguments: Expressions.refused)
    func whatSystemdRefusesIsRefused(_ text: String) {
        #expect(OracleTests.answer(text, local: .utc, base: 0, iterations: 1) == nil)
    }

    @Test(arguments: [
        ("", 1, "expected a calendar expression such as Mon *-*-* 09:00, found nothing"),
        ("Mon 25:00", 5, "expected an hour from 0 to 23, found \"25:00\""),
        ("Mun 09:00", 1, "Mon"),
        ("Fri..Mon", 6, "the range ends before it begins; write it as two ranges, joined by \",\""),
        ("*:*/5", 4, "\"*\" cannot be followed by a repetition; write the first value, as in 0/5"),
        ("*:0/60", 3, "the repetition never occurs; make it shorter or remove it"),
        ("09:00:05..05.5", 7, "a range of seconds must span at least one second"),
        ("*-*~29", 5, "expected a day from 1 (the last day of the month) to 28"),
        ("2020-01-01T00:00", 11, "found \"T00:00\""),
        ("09", 3, "expected \":\" and minutes after the hour, found the end"),
    ])
    func aMistakeIsNamedWithItsPlace(_ text: String, column: Int, message: String) {
        let problem = #expect(throws: CalendarProblem.self) { try CalendarExpression(text) }
        #expect(problem?.column == column)
        #expect(problem?.message.contains(message) == true, "\(problem?.message ?? "")")
    }

    @Test func aListHasAsManyValuesAsTheMessageSays() {
        let problem = #expect(throws: CalendarProblem.self) { try CalendarExpression(Expressions.list(of: 242)) }
        #expect(problem?.message == "expected at most 241 values in a list")
    }

    @Test func anUnknownZoneIsRefusedByName() throws {
        let expression = try CalendarExpression("daily Europe/Berlim")
        #expect(throws: ZoneProblem.unknown("Europe/Berlim")) { try CalendarTimes([expression], local: .utc) }
    }

    /// Each expression with a base and the first times after it, in seconds since 1970 (UTC).
    @Test(arguments: [
        // 2024-02-28, in a leap year.
        ("daily UTC", 1_709_078_400, [1_709_164_800, 1_709_251_200]),
        ("*-02-29 12:00 UTC", 1_709_251_200, [1_835_438_400]),
        ("*-02~01 UTC", 1_709_078_400, [1_709_164_800, 1_740_700_800]),
        ("Mon *-05~07/1 UTC", 1_709_078_400, [1_716_768_000, 1_748_217_600]),
        ("2024-03-01 UTC", 1_709_078_400, [1_709_251_200]),
        ("*-02-30 UTC", 1_709_078_400, []),
        // 2026-03-29: clocks in Berlin go forward from 2:00 to 3:00 at 01:00 UTC.
        ("02:30 Europe/Berlin", 1_774_656_000, [1_774_661_400, 1_774_830_600]),
        ("*:0/30 Europe/Berlin", 1_774_744_200, [1_774_746_000, 1_774_747_800]),
        // 2026-10-25: clocks go back from 3:00 to 2:00; the repeated hour counts once.
        ("02:30 Europe/Berlin", 1_792_879_800, [1_792_888_200, 1_792_978_200]),
        ("*:0/30 Europe/Berlin", 1_792_886_400, [1_792_888_200, 1_792_893_600]),
        // The base is in the repeated hour: its first occurrence is past, and the second does not count.
        ("02:30 Europe/Berlin", 1_792_890_600, [1_792_978_200]),
        ("*:0/30 Europe/Berlin", 1_792_890_600, [1_792_893_600]),
        ("*:*:* Europe/Berlin", 1_792_890_600, [1_792_893_600, 1_792_893_601]),
        ("*:*:0/0.000001 Europe/Berlin", 1_792_890_600, [1_792_893_600]),
        ("*:0/30 UTC", 1_792_886_400, [1_792_888_200, 1_792_890_000, 1_792_891_800, 1_792_893_600]),
    ])
    func timesCome(_ text: String, base: Int, expected: [Int]) {
        let answer = OracleTests.answer(text, local: .utc, base: base, iterations: max(expected.count, 1))
        #expect(answer?.times == expected)
    }

    /// systemd 252 misses times of these expressions: its lists of days from the end shrink, and open repetitions
    /// overrun.
    @Test(arguments: [
        ("03/9:25", "03..23/9:25"), ("1/8-16", "1..12/8-16"), ("7/5:37:*", "7..23/5:37:*"),
        ("*-*~18,20,21..26 12:00", "*-*~18,20..26 12:00"), ("*:7/10,3", "*:7..59/10,3"), ("*-*-2/7", "*-*-2..31/7"),
    ])
    func aRepetitionWithoutAnEndIsOneToTheEndOfItsRange(open: String, closed: String) throws {
        for zone in ["UTC", "Europe/Berlin", "America/New_York"] {
            let local = try Zone(named: zone)
            let answers = [open, closed].map {
                OracleTests.answer($0, local: local, base: 1_774_735_800, iterations: 500)?.times
            }
            #expect(answers[0] != nil)
            #expect(answers[0] == answers[1])
        }
    }

    @Test func theEarliestOfSeveralComes() throws {
        let times = try CalendarTimes(
            [CalendarExpression("daily"), CalendarExpression("*:20")], local: .utc)
        #expect(times.next(after: 0) == 1_200_000_000)
        #expect(times.next(after: 84_000_000_000) == 86_400_000_000)
    }

    @Test func fractionsCome() throws {
        let times = try CalendarTimes([CalendarExpression("*:*:0.25/0.5")], local: .utc)
        #expect(times.next(after: 0) == 250_000)
        #expect(times.next(after: 59_750_000) == 60_250_000)
    }

    /// The expected times are the next noon while the named offset is in force.
    @Test func anAbbreviationIsOneOfTheLocalZonesTimes() throws {
        let berlin = try Zone(named: "Europe/Berlin")
        let summer = try CalendarTimes([CalendarExpression("12:00 CEST")], local: berlin)
        let winter = try CalendarTimes([CalendarExpression("12:00 cet")], local: berlin)
        #expect(summer.next(after: 1_792_843_200_000_000) == 1_806_228_000_000_000)
        #expect(winter.next(after: 1_792_843_200_000_000) == 1_792_926_000_000_000)
    }
}
