import Jobs
import OperationTypes
import Testing

@testable import Runner

/// I9 and I10: lapsed lives and lost answers.
@Suite struct LapseRules {
    private static let unanswered = StoreError.unanswered(server: "db", message: "reset")
    private static let unreachable = StoreError.unreachable(server: "db", message: "refused")
    private let one = LoopProbe.attempt(1, timeout: nil)
    private let two = LoopProbe.attempt(2, timeout: nil)

    @Test func nothingIsClaimedBeforeALifeBegins() {
        var loop = ClaimLoop(settings: LoopProbe.settings)
        #expect(!loop.wantsExchange)
        _ = loop.handle(.holds(HolderID(4)), now: .zero)
        #expect(loop.beginExchange()?.holder == HolderID(4))
    }

    @Test func aLapseStopsAttemptsAndRecordsNoEndOfThem() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        #expect(probe.after(.lapsed(limit: .seconds(10))) == "stop 1 \(StopReason.lapsed.name), uptime +5s")
        // An error is the response to the request to stop.
        #expect(probe.after(LoopProbe.ended(one, .notRun)) == "lapse over")
        #expect(probe.after(.holds(HolderID(2))) == "exchange(claim 2)")
    }

    @Test func aValueCountsAfterALapseAndNamesTheOldLife() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.send(.lapsed(limit: .seconds(10)))
        #expect(probe.send(LoopProbe.ended(one)) == [])
        let batch = probe.loop.beginExchange()
        #expect(batch?.holder == HolderID(1))
        #expect(batch?.ends.count == 1)
        // Nothing is claimed without a life.
        #expect(batch?.claim == nil)
        #expect(probe.send(LoopProbe.exchange()) == ["lapse over"])
    }

    /// The grace period is longer than what is left of the lease. It also ends for an attempt that was cancelled before.
    @Test func aLapseShortensTheGracePeriod() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one, two])
        probe.send(.cancelRequested(JobID(1)))
        #expect(
            probe.after(.lapsed(limit: .seconds(2))) == "stop 2 \(StopReason.lapsed.name), uptime +2s")
        probe.now += .seconds(2)
        #expect(probe.send(.uptimeAlarm(random: 0.5)).sorted() == ["abandon 1", "abandon 2"])
    }

    @Test func aLifeThatHasEndedLeavesNoTime() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        #expect(probe.after(.lapsed(limit: .zero)) == "stop 1 \(StopReason.lapsed.name), uptime +0s")
        #expect(probe.send(.uptimeAlarm(random: 0.5)) == ["abandon 1", "lapse over"])
    }

    @Test func anAbandonedAttemptOfALapsedLifeEndsTheLapseAndKeepsItsSlot() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.send(.lapsed(limit: .seconds(10)))
        probe.now += .seconds(5)
        #expect(probe.send(.uptimeAlarm(random: 0.5)) == ["abandon 1", "lapse over"])
        #expect(probe.after(.holds(HolderID(2))) == "exchange(claim 1)")
        #expect(probe.send(LoopProbe.ended(one)) == ["late 1"])
    }

    @Test func jobsThatWereClaimedDuringALapseAreReturned() {
        var probe = LoopProbe()
        _ = probe.loop.beginExchange()
        #expect(probe.send(.lapsed(limit: .seconds(10))) == [])
        #expect(probe.after(LoopProbe.exchange(claimed: [one])) == "exchange(1 interrupted)")
        #expect(probe.send(LoopProbe.exchange()) == ["lapse over"])
    }

    @Test func aLapseWaitsForUnrecordedEnds() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.send(LoopProbe.ended(one))
        _ = probe.loop.beginExchange()
        #expect(probe.send(.lapsed(limit: .seconds(10))) == [])
        #expect(probe.send(.exchangeFailed(Self.unreachable)) == [])
        probe.now += .milliseconds(100)
        #expect(probe.after(.uptimeAlarm(random: 0.5)) == "exchange(1 succeeded)")
        #expect(probe.send(LoopProbe.exchange()) == ["lapse over"])
    }

    @Test func aLapsedLoopStillProvesProgress() {
        var probe = LoopProbe()
        probe.exchange()
        probe.send(.lapsed(limit: .seconds(10)))
        #expect(probe.after(.proofWanted(Latch())) == "exchange()")
        #expect(probe.send(LoopProbe.exchange()) == ["prove 1 true"])
    }

    @Test func endsOfTwoLivesTakeTwoExchanges() {
        let later = LoopProbe.attempt(2, timeout: nil, holder: 2)
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.send(.cancelRequested(JobID(1)))
        probe.now += .seconds(5)
        // The end of the abandoned attempt is not recorded yet when the next life begins.
        probe.send(.uptimeAlarm(random: 0.5))
        probe.send(.holds(HolderID(2)))
        probe.send(LoopProbe.ended(one))
        var batch = probe.loop.beginExchange()
        #expect(batch?.holder == HolderID(1))
        #expect(batch?.claim == nil)
        probe.send(LoopProbe.exchange())
        probe.exchange(claimed: [later])
        probe.send(LoopProbe.ended(later))
        batch = probe.loop.beginExchange()
        #expect(batch?.holder == HolderID(2))
    }

    @Test func aLostAnswerIsAskedForBeforeAnythingElse() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one, two])
        probe.send(LoopProbe.ended(one))
        _ = probe.loop.beginExchange()
        probe.send(.exchangeFailed(Self.unanswered))
        probe.send(LoopProbe.ended(two))
        probe.now += .milliseconds(100)
        #expect(probe.after(.uptimeAlarm(random: 0.5)) == "ask(1 succeeded, claim 1)")
        // The store cannot be asked yet.
        #expect(probe.after(.exchangeFailed(Self.unreachable)) == "uptime +200ms")
        probe.now += .milliseconds(200)
        #expect(probe.after(.uptimeAlarm(random: 0.5)) == "ask(1 succeeded, claim 1)")
        let three = LoopProbe.attempt(3, timeout: nil)
        #expect(probe.after(LoopProbe.exchange(claimed: [three])) == "start 3, exchange(2 succeeded, claim 1)")
    }

    @Test func anExchangeThatWasUndoneIsSentAgain() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.send(LoopProbe.ended(one))
        _ = probe.loop.beginExchange()
        probe.send(.exchangeFailed(Self.unanswered))
        probe.now += .milliseconds(100)
        #expect(probe.after(.uptimeAlarm(random: 0.5)) == "ask(1 succeeded, claim 2)")
        #expect(probe.after(.exchangeUndone) == "exchange(1 succeeded, claim 2)")
    }

    @Test func heldAttemptsAreKnownWhereverTheyAre() {
        let three = LoopProbe.attempt(3, timeout: nil)
        let four = LoopProbe.attempt(4, timeout: nil)
        var probe = LoopProbe(settings: RunnerSettings(slots: 4))
        probe.exchange(claimed: [one, two, three, four])
        probe.send(LoopProbe.ended(one))
        _ = probe.loop.beginExchange()
        probe.send(LoopProbe.ended(two))
        let children = (0..<3000).map { _ in NewGraph(isGraph: false, jobs: [NewJob(definition: DefinitionID(1))]) }
        probe.send(LoopProbe.ended(three, .returned(.emptyObject, children: children)))
        #expect(probe.loop.knownLeases == Set([one, two, three, four].map(\.lease)))
    }

    @Test func aDrainWaitsForALostAnswer() {
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.send(LoopProbe.ended(one))
        _ = probe.loop.beginExchange()
        probe.send(.exchangeFailed(Self.unanswered))
        #expect(probe.after(.drain(limit: .seconds(10))) == "uptime +100ms")
        probe.now += .milliseconds(100)
        #expect(probe.after(.uptimeAlarm(random: 0.5)) == "uptime +9s900ms, ask(1 succeeded, claim 2)")
        #expect(probe.after(LoopProbe.exchange()) == "end, ended")
    }
}
