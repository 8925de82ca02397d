import Jobs
import OperationTypes
import Testing

@testable import Commands

@Suite struct TextTests {
    @Test(
        arguments: [
            (0, "now"), (999, "now"), (-999, "now"), (1000, "1s ago"), (-61_000, "in 1m"), (7_200_000, "2h ago"),
            (172_800_000, "2d ago"),
        ] as [(Int64, String)])
    func momentsAreToldFromNow(millisecondsAgo: Int64, text: String) {
        let moment = Timestamp(milliseconds: Samples.now.milliseconds - millisecondsAgo)
        #expect(TimeText.relative(moment, to: Samples.now) == text)
    }

    @Test(
        arguments: [
            (350, "350ms"), (1250, "1.2s"), (59_999, "59.9s"), (123_000, "2m 3s"), (11_520_000, "3h 12m"),
            (439_200_000, "5d 2h"), (-5, "0ms"),
        ] as [(Int64, String)])
    func durationsHaveTwoUnits(milliseconds: Int64, text: String) {
        #expect(TimeText.duration(.milliseconds(milliseconds)) == text)
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_048_575, "1.0 MiB"),
            (67_108_864, "64.0 MiB"), (1_099_511_627_776, "1.0 TiB"), (.max, "8192.0 PiB"),
        ] as [(Int64, String)])
    func bytesHaveBinaryUnits(count: Int64, text: String) {
        #expect(AmountText.bytes(count) == text)
    }

    @Test func countsAreGrouped() {
        #expect(AmountText.grouped(1_234_567) == "1,234,567")
        #expect(AmountText.grouped(-1234) == "-1,234")
        #expect(AmountText.count(1, "job") == "1 job")
        #expect(AmountText.count(0, "job") == "0 jobs")
    }

    @Test(
        arguments: [
            (0, "░░░░░░░░░░░░░░░░░░░░   0 %"), (33, "██████▌░░░░░░░░░░░░░  33 %"), (99, "███████████████████▊  99 %"),
            (100, "████████████████████ 100 %"),
        ] as [(Int64, String)])
    func theBarGrowsByEighths(completed: Int64, bar: String) {
        let progress = OperationProgress(completed: completed, total: 100, unit: "pages")
        #expect(ProgressText.line(progress, rate: nil).plain.hasPrefix(bar))
    }

    @Test func progressWithoutATotalIsACount() {
        let progress = OperationProgress(completed: 5 << 20, unit: "bytes")
        #expect(ProgressText.line(progress, rate: 1_048_576).plain == "5.0 MiB  1.0 MiB/s")
    }

    @Test(
        arguments: [
            (3, 20, "steps", "15 % (3 of 20 steps)"), (1, 2, "pages", "50 % (1 of 2 pages)"),
            (5, 100, "percent", "5 %"), (8 << 20, 64 << 20, "bytes", "12 % (8.0 of 64.0 MiB)"),
            (512, 2048, "bytes", "25 % (512 B of 2.0 KiB)"), (3, 0, "steps", "3 of 0 steps"),
        ] as [(Int64, Int64, String, String)])
    func progressNamesItsUnitOnce(completed: Int64, total: Int64, unit: String, text: String) {
        let progress = OperationProgress(completed: completed, total: total, unit: unit)
        #expect(ProgressText.line(progress).plain == text)
        guard unit == "percent" else { return }
        #expect(ProgressText.line(progress, rate: nil).plain.hasSuffix("   5 %"))
    }

    @Test func aTableNarrowsItsWidestColumnFirst() {
        let table = Table(
            [7],
            [
                .init("A", shrinks: true) { _ in "a long text in the first" },
                .init("B", shrinks: true) { _ in "shorter text" }, .init("C", .right) { "\($0)" },
            ])
        #expect(
            table.lines(width: 30).map(\.plain) == ["A              B             C", "a long text …  shorter text  7"])
        #expect(table.lines(width: nil)[1].plain == "a long text in the first  shorter text  7")
    }
}
