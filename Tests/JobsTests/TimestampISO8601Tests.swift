import Testing

@testable import Jobs

@Suite struct TimestampISO8601Tests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_001, "2024-02-29T00:00:00.001Z"),
            (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
            (1_735_689_600_000, "2025-01-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-0001-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+10000-01-01T00:00:00.000Z"),
            (Int64.max, "+292278994-08-17T07:12:55.807Z"),
            (Int64.min, "-292275055-05-16T16:47:04.192Z"),
        ] as [(Int64, String)])
    func momentIsWrittenInUTCAndReadBack(milliseconds: Int64, text: String) {
        let moment = Timestamp(milliseconds: milliseconds)
        #expect(moment.iso8601 == text)
        #expect(Timestamp(iso8601: text) == moment)
    }

    @Test func everyDayOfFourCenturiesIsReadBackAndFollowsTheOneBefore() {
        var previous = ""
        for day in stride(from: Int64(-150_000), to: 150_000, by: 1) {
            let moment = Timestamp(milliseconds: day * 86_400_000)
            let text = moment.iso8601
            #expect(Timestamp(iso8601: text) == moment)
            // Four-digit years sort as text.
            #expect(text > previous)
            previous = text
        }
    }

    @Test(
        arguments: [
            ("2024-05-01T12:30:00Z", 1_714_566_600_000),
            ("2024-05-01t12:30:00z", 1_714_566_600_000),
            ("2024-05-01 12:30:00Z", 1_714_566_600_000),
            ("2024-05-01T14:30:00+02:00", 1_714_566_600_000),
            ("2024-04-30T23:00:00-13:30", 1_714_566_600_000),
            ("2024-05-01T12:30:00.5Z", 1_714_566_600_500),
            ("2024-05-01T12:30:00.05Z", 1_714_566_600_050),
            ("2024-05-01T12:30:00.123456789Z", 1_714_566_600_123),
        ] as [(String, Int64)])
    func otherSpellingsOfRFC3339AreRead(text: String, milliseconds: Int64) {
        #expect(Timestamp(iso8601: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2024", "2024-05-01", "2024-05-01T12:30:00", "2024-05-01T12:30Z", "2023-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z", "2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
        "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-06-30T23:59:60Z",
        "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+25:00", "2024-01-01T00:00:00+02", "2024-01-01T00:00:00Zx",
        " 2024-01-01T00:00:00Z", "24-01-01T00:00:00Z", "+999999999-01-01T00:00:00Z", "٢٠٢٤-01-01T00:00:00Z",
    ])
    func whatIsNoMomentIsRefused(text: String) {
        #expect(Timestamp(iso8601: text) == nil)
    }
}
