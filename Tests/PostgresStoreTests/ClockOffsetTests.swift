import Jobs
import Testing

@testable import PostgresStore

/// Estimates of the server's clock. Times are in milliseconds since this machine's boot.
@Suite struct ClockOffsetTests {
    private func estimate(_ measurements: (server: Int64, sent: Int64, received: Int64)...) -> Int64? {
        var estimate = OffsetEstimate()
        for (server, sent, received) in measurements {
            estimate.add(
                Timestamp(milliseconds: server), sentAt: .milliseconds(sent), receivedAt: .milliseconds(received))
        }
        return estimate.serverTime(at: .zero)?.milliseconds
    }

    @Test func theMiddleOfTheRoundTripCounts() {
        #expect(estimate() == nil)
        #expect(estimate((server: 1_000_050, sent: 0, received: 100)) == 1_000_000)
    }

    @Test func theBestRoundTripIsKept() {
        let good = (server: Int64(1_000_005), sent: Int64(0), received: Int64(10))
        let slow = (server: Int64(1_001_400), sent: Int64(1000), received: Int64(1500))
        #expect(estimate(good, slow) == 1_000_000)
        #expect(estimate(slow, good) == 1_000_000)
        // Equally good ones follow the clocks, which drift apart.
        #expect(estimate(good, (server: 1_010_008, sent: 10_000, received: 10_010)) == 1_000_003)
    }

    @Test func anOldMeasurementGivesWay() {
        let good = (server: Int64(1_000_005), sent: Int64(0), received: Int64(10))
        let later = (server: Int64(1_600_300), sent: Int64(600_000), received: Int64(600_200))
        // After ten minutes, the drift of the clocks may exceed the error of a slow request.
        #expect(estimate(good, later) == 1_000_200)
    }

    @Test func aServerClockThatWasSetCountsAtOnce() {
        let good = (server: Int64(1_000_005), sent: Int64(0), received: Int64(10))
        let set = (server: Int64(4_602_000), sent: Int64(1000), received: Int64(3000))
        #expect(estimate(good, set) == 4_600_000)
    }
}
