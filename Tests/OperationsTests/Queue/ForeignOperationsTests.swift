import Testing

@testable import Operations

/// The intervals at which a queue checks foreign operations for cancellation.
@Suite struct ForeignOperationsTests {
    private let second: UInt64 = 1_000_000_000
    private let shortest: UInt64 = 10_000_000
    private func handle(_ number: Int) -> QueueState.Handle { QueueState.Handle(index: number, number: number) }

    @Test func nothingThatWaitsNeedsNoCheck() throws {
        var operations = ForeignOperations()
        let none = operations.firstCheck(now: 0)
        operations.insert(handle(1))
        let found = operations.firstCheck(now: second)
        let check = try #require(found)
        #expect(none == nil && check.delay == shortest)
        operations.forget(handle(1))
        let next = operations.nextCheck(after: check.number, cost: 0, now: 2 * second)
        let later = operations.firstCheck(now: 3 * second)
        #expect(next == nil && later == nil)
    }

    @Test func checksBecomeRarerWhileNothingIsAdded() {
        var operations = ForeignOperations()
        operations.insert(handle(1))
        var now = second
        var checks = 0
        var next = operations.firstCheck(now: now)
        // A check every 10 ms would mean 360,000 wake-ups in this hour.
        while let check = next, now < 3600 * second {
            #expect(check.delay >= shortest && check.delay <= second)
            checks += 1
            now += check.delay
            next = operations.nextCheck(after: check.number, cost: 0, now: now)
        }
        #expect(checks < 4200)
        #expect(next?.delay == second)
    }

    @Test func aNewOperationIsCheckedSoonAndReplacesTheSlowChecks() throws {
        var operations = ForeignOperations()
        operations.insert(handle(1))
        let first = operations.firstCheck(now: 0)
        let second = operations.nextCheck(after: try #require(first).number, cost: 0, now: 100 * self.second)
        let slow = try #require(second)
        #expect(slow.delay == self.second)
        operations.insert(handle(2))
        let soon = operations.firstCheck(now: 100 * self.second)
        #expect(soon?.delay == shortest)
        let replaced = operations.nextCheck(after: slow.number, cost: 0, now: 101 * self.second)
        #expect(replaced == nil)
    }

    @Test func anOperationThatIsAskedAgainDoesNotCountAsNew() throws {
        var operations = ForeignOperations()
        operations.insert(handle(1))
        let first = operations.firstCheck(now: 0)
        operations.remove(handle(1))
        let none = operations.nextCheck(after: try #require(first).number, cost: 0, now: 50 * second)
        #expect(none == nil)
        operations.insert(handle(1))
        let again = operations.firstCheck(now: 50 * second)
        #expect(again?.delay == second / 2)
    }

    @Test func checksTakeAtMostAHundredthOfAProcessor() throws {
        var operations = ForeignOperations()
        operations.insert(handle(1))
        let first = operations.firstCheck(now: 0)
        let next = operations.nextCheck(after: try #require(first).number, cost: 30_000_000, now: second)
        #expect(next?.delay == 3 * second)
    }
}
