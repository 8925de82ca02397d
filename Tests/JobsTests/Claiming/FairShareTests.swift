import Jobs
import Testing

@Suite struct FairShareTests {
    typealias Demand = FairShare.Demand

    @Test func whereAllFitEverybodyGetsWhatHeWants() {
        var shares = FairShare()
        #expect(
            shares.divide(10, among: [Demand(key: 1, weight: 1, wanted: 4), Demand(key: 2, weight: 9, wanted: 6)]) == [
                4, 6,
            ])
        #expect(shares.divide(10, among: []) == [])
    }

    @Test func aKeyThatAnotherQueueTakesBeginsAnew() {
        let demands = [Demand(key: 1, weight: 1, wanted: 9), Demand(key: 2, weight: 1, wanted: 9)]
        var shares = FairShare()
        let new = shares
        #expect(shares.divide(1, among: demands) == [1, 0])
        #expect(shares != new)
        for key in [1, 2] { shares.forget(key) }
        #expect(shares == new)
    }

    @Test(arguments: [
        (12, [(3, 100), (1, 100)], [9, 3]),
        (10, [(1, 100), (1, 100)], [5, 5]),
        (7, [(5, 100), (1, 100), (1, 100)], [5, 1, 1]),
        // The slots that one queue does not need go to the others, by their weights.
        (12, [(8, 2), (2, 100), (1, 100)], [2, 7, 3]),
        (5, [(1, 100)], [5]),
    ])
    func slotsGoByWeight(_ slots: Int, _ demands: [(weight: Int, wanted: Int)], _ expected: [Int]) {
        var shares = FairShare()
        let given = shares.divide(
            slots, among: demands.enumerated().map { Demand(key: $0, weight: $1.weight, wanted: $1.wanted) })
        #expect(given == expected)
    }

    @Test func smallDivisionsAddUpToTheWeights() {
        var shares = FairShare()
        var sums = [0, 0, 0]
        for _ in 0..<60 {
            let given = shares.divide(1, among: [1, 2, 3].map { Demand(key: $0, weight: $0, wanted: 50) })
            for index in sums.indices { sums[index] += given[index] }
        }
        #expect(sums == [10, 20, 30])
    }

    @Test func turnsAreMixedAndNotInRuns() {
        var shares = FairShare()
        let turns = (0..<8).map { _ in
            shares.divide(1, among: [Demand(key: 0, weight: 3, wanted: 9), Demand(key: 1, weight: 1, wanted: 9)])[0]
        }
        #expect(turns == [1, 1, 0, 1, 1, 1, 0, 1])
    }

    @Test func noSlotsAreMoreThanThereAre() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var shares = FairShare()
            let demands = (0..<Int.random(in: 1...5, using: &random)).map {
                Demand(key: $0, weight: .random(in: 1...9, using: &random), wanted: .random(in: 1...9, using: &random))
            }
            let slots = Int.random(in: 0...30, using: &random)
            let given = shares.divide(slots, among: demands)
            #expect(given.reduce(0, +) == min(slots, demands.reduce(0) { $0 + $1.wanted }), "\(demands) \(slots)")
            #expect(zip(given, demands).allSatisfy { $0 <= $1.wanted && $0 >= 0 }, "\(demands) \(slots)")
        }
    }
}

@Suite struct AgeingTests {
    @Test(arguments: [
        (Priority.low, 0, Priority.low), (.low, 299, .low), (.low, 300, .normal), (.low, 600, .high),
        (.veryLow, 100_000, .veryHigh), (.veryHigh, 100_000, .veryHigh),
        // A clock that jumped back.
        (.normal, -5, .normal),
    ])
    func aStepOfWaitingLiftsByOne(_ priority: Priority, _ seconds: Int, _ expected: Priority) {
        let since = Timestamp(milliseconds: 1_750_000_000_000)
        #expect(priority.aged(readySince: since, now: since + .seconds(seconds), step: .seconds(300)) == expected)
    }

    @Test func aStepOfNothingDoesNotDivideByIt() {
        let since = Timestamp(milliseconds: 0)
        #expect(Priority.low.aged(readySince: since, now: since + .seconds(1), step: .zero) == .veryHigh)
        #expect(Priority.veryLow.aged(readySince: since, now: Timestamp(milliseconds: .max), step: .zero) == .veryHigh)
    }
}
