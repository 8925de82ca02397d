import CalendarEvents
import Jobs
import Testing

@testable import Runner

@Suite struct ScheduleRuleTests {
    /// 2026-03-02 00:00:00 UTC.
    static let midnight = Timestamp(milliseconds: 1_772_409_600_000)

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let occasion: ScheduleRule.Occasion
        let isPersistent: Bool
        /// Hours after midnight, of a schedule at each full hour.
        let after: Double
        let now: Double
        let next: Double
        var missed: Double?
        /// Hours since it fired last.
        var passed = 0.0
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(name: "a new one", occasion: .running, isPersistent: false, after: 0.5, now: 0.5, next: 1),
        Case(name: "the same answer later", occasion: .running, isPersistent: false, after: 0.5, now: 0.9, next: 1),
        Case(name: "S3: late while running", occasion: .running, isPersistent: false, after: 0.5, now: 3.2, next: 1),
        Case(name: "S3: missed", occasion: .start, isPersistent: false, after: 0.5, now: 3.2, next: 4, missed: 1),
        Case(name: "S3: made up for", occasion: .start, isPersistent: true, after: 0.5, now: 3.2, next: 1),
        Case(name: "S3: a restart at the hour", occasion: .start, isPersistent: false, after: 0.5, now: 1.01, next: 1),
        Case(
            name: "S3: the last minute of several", occasion: .start, isPersistent: false, after: 0.5, now: 3.01,
            next: 3,
            missed: 1),
        Case(
            name: "S4: just fired, an hour back", occasion: .running, isPersistent: false, after: 5, now: 4.2, next: 5),
        Case(
            name: "S4: just fired, ten minutes back", occasion: .running, isPersistent: false, after: 5, now: 4.9,
            next: 6),
        Case(
            name: "S4: ten minutes back, half an hour later", occasion: .running, isPersistent: false, after: 5,
            now: 4.9, next: 5, passed: 0.5),
        Case(name: "S4: a day back", occasion: .running, isPersistent: false, after: 24, now: 0.2, next: 1),
        Case(name: "S4: a year back", occasion: .running, isPersistent: false, after: 8760, now: 4.2, next: 5),
        Case(
            name: "S4: a year back, at the start", occasion: .start, isPersistent: true, after: 8760, now: 4.2, next: 5),
    ]

    @Test(arguments: cases)
    func theNextTimeIs(_ example: Case) throws {
        func moment(_ hours: Double) -> Timestamp { Self.midnight + .milliseconds(Int64(hours * 3_600_000)) }
        let times = try CalendarTimes([CalendarExpression("hourly")], local: .utc)
        let plan = ScheduleRule(times: times, isPersistent: example.isPersistent)
            .plan(
                after: moment(example.after), now: moment(example.now),
                sinceLast: .milliseconds(Int64(example.passed * 3_600_000)), example.occasion)
        #expect(plan.nextAt == moment(example.next))
        #expect(plan.missedAt == example.missed.map(moment))
        #expect(plan.after < moment(example.next))
    }

    @Test func whatFiresLateGoesOnFromNow() throws {
        let times = try CalendarTimes([CalendarExpression("minutely")], local: .utc)
        let rule = ScheduleRule(times: times, isPersistent: true)
        let late = rule.plan(firing: Self.midnight, now: Self.midnight + .seconds(3605))
        #expect(late.nextAt == Self.midnight + .seconds(3660))
        // Early, as after a clock that was set back between the alarm and here: the time itself is over.
        let early = rule.plan(firing: Self.midnight, now: Self.midnight + .seconds(-5))
        #expect(
            early
                == ScheduleRule.Plan(after: Self.midnight + .milliseconds(999), nextAt: Self.midnight + .seconds(60)))
    }

    /// S5
    @Test(arguments: ["*:*:*", "*:*:0/0.25", "*:*:0/0.000001"])
    func timesAreASecondApart(_ expression: String) throws {
        let times = try CalendarTimes([CalendarExpression(expression)], local: .utc)
        let rule = ScheduleRule(times: times, isPersistent: false)
        for late in [0, 3, 999] {
            let plan = rule.plan(firing: Self.midnight, now: Self.midnight + .milliseconds(late))
            #expect(plan.nextAt == Self.midnight + .seconds(1))
        }
    }

    /// S4
    @Test func whatWasFiredForIsNotLateAgain() throws {
        let times = try CalendarTimes([CalendarExpression("hourly")], local: .utc)
        let rule = ScheduleRule(times: times, isPersistent: true)
        let yearBefore = Self.midnight + .seconds(-86_400 * 365)
        func isLate(_ passed: Int) -> Bool {
            rule.isLate(
                yearBefore, since: Self.midnight, now: Self.midnight + .seconds(passed), sinceLast: .seconds(0))
        }
        #expect(!isLate(3599))
        #expect(isLate(3600))
        // The clock is wrong, and an interval has passed.
        #expect(
            rule.isLate(yearBefore, since: Self.midnight, now: yearBefore, sinceLast: .seconds(3600)))
    }

    /// S4: the clock is set back five minutes after a schedule fired. The next firing comes between half an interval
    /// and one and a half intervals after the last one.
    @Test(arguments: ["minutely", "*:0/5", "hourly", "0/6:00", "daily", "Mon..Fri 09:00", "weekly"])
    func aSetBackNeverDoublesNorFreezes(_ expression: String) throws {
        let times = try CalendarTimes([CalendarExpression(expression)], local: .utc)
        let rule = ScheduleRule(times: times, isPersistent: false)
        for back in [60, 600, 3600, 7200, 43_200, 86_400, 7 * 86_400, 365 * 86_400] {
            let fired = try #require(times.next(after: Self.midnight + .seconds(86_400)))
            let after = rule.plan(firing: fired, now: fired).after
            let now = fired + .seconds(300 - back)
            let plan = rule.plan(after: after, now: now, sinceLast: .seconds(300), .running)
            let next = try #require(plan.nextAt)
            let waited = .seconds(300) + (next - now)
            let interval = try #require(times.next(after: next)) - next
            #expect(plan.after < next)
            #expect(waited >= interval / 2, "\(expression), \(back) s back")
            // Around a weekend the intervals before and after differ.
            if !expression.hasPrefix("Mon..Fri") {
                #expect(waited <= interval * 3 / 2 + .seconds(300), "\(expression), \(back) s back")
            }
            // S1
            #expect(rule.plan(after: plan.after, now: now, sinceLast: .seconds(300), .running).nextAt == next)
        }
    }
}
