import Jobs
import OperationTypes
import Testing

@testable import Runner

@Suite struct ClaimLoopRules {
    @Test func endsGatherWhileAnExchangeIsInFlight() {
        let attempts = (1...3).map { LoopProbe.attempt($0) }
        var probe = LoopProbe(settings: RunnerSettings(slots: 3))
        probe.exchange(claimed: attempts)
        #expect(probe.after(LoopProbe.ended(attempts[0])) == "uptime +30s, exchange(1 succeeded, claim 1)")
        #expect(probe.after(LoopProbe.ended(attempts[1])) == "uptime +30s")
        #expect(probe.after(LoopProbe.ended(attempts[2])) == "-")
        #expect(probe.after(LoopProbe.exchange()) == "exchange(2 succeeded, 3 succeeded, claim 3)")
    }

    private static func children(_ jobs: Int) -> AttemptResult {
        .returned(
            .emptyObject,
            children: (0..<jobs).map { _ in
                NewGraph(isGraph: false, jobs: [NewJob(definition: DefinitionID(1))])
            })
    }

    /// I8: the ends of many attempts that enqueue many jobs each.
    @Test func endsWithManyChildrenTakeSeveralExchanges() {
        let attempts = (1...5).map { LoopProbe.attempt($0, timeout: nil) }
        var probe = LoopProbe(settings: RunnerSettings(slots: 5))
        probe.exchange(claimed: attempts)
        #expect(probe.after(LoopProbe.ended(attempts[0])) == "exchange(1 succeeded, claim 1)")
        for attempt in attempts[1...] { probe.send(LoopProbe.ended(attempt, Self.children(900))) }
        #expect(probe.after(LoopProbe.exchange()) == "exchange(2 succeeded, 3 succeeded, claim 5)")
        #expect(probe.after(LoopProbe.exchange()) == "exchange(4 succeeded, 5 succeeded, claim 5)")
        #expect(probe.after(LoopProbe.exchange()) == "-")
    }

    /// I8: the loop exchanges while the store prepares very many children, and the end keeps its slot.
    @Test func loopDoesNotWaitForVeryManyChildren() throws {
        let one = LoopProbe.attempt(1, timeout: nil)
        let two = LoopProbe.attempt(2, timeout: nil)
        var probe = LoopProbe()
        probe.exchange(claimed: [one, two])
        let actions = probe.loop.handle(LoopProbe.ended(one, Self.children(3000)), now: probe.now)
        guard case .prepare(var end)? = actions.first, actions.count == 1 else {
            Issue.record("not prepared")
            return
        }
        #expect(probe.loop.snapshot(now: probe.now).unrecorded == 1)
        #expect(probe.after(LoopProbe.ended(two)) == "exchange(2 succeeded, claim 1)")
        #expect(probe.after(LoopProbe.exchange()) == "-")
        // P7: a drain waits for it.
        #expect(probe.after(.drain(limit: .seconds(10))) == "uptime +10s")
        end.prepared = PreparedChildren(1)
        #expect(probe.after(.prepared(end)) == "uptime +10s, exchange(1 succeeded)")
        #expect(probe.after(LoopProbe.exchange()) == "end, ended")
    }

    /// I11
    @Test func anAttemptThatHasReturnedIsNeitherStoppedNorAbandoned() {
        let one = LoopProbe.attempt(1)
        let two = LoopProbe.attempt(2)
        let failure = AttemptResult.threw(TryFailure(JobFailure(code: "broken", message: "x"), isRetryable: false))
        var probe = LoopProbe()
        probe.exchange(claimed: [one, two])
        #expect(probe.after(.returned(one)) == "uptime +30s")
        #expect(probe.after(.cancelRequested(two.lease.job)) == "stop 2 cancellation, uptime +5s")
        #expect(probe.after(.returned(two)) == "uptime +5s")
        probe.now += .seconds(60)
        #expect(probe.after(.uptimeAlarm(random: 0.5)) == "-")
        #expect(probe.after(.interrupt) == "-")
        #expect(probe.after(LoopProbe.ended(one, failure)) == "exchange(1 failed broken)")
        probe.send(LoopProbe.exchange())
        #expect(probe.after(LoopProbe.ended(two, failure)) == "exchange(2 cancelled)")
    }

    /// I9, I11
    @Test func aLapseDropsAFailureThatHasReturned() {
        let one = LoopProbe.attempt(1)
        let two = LoopProbe.attempt(2)
        var probe = LoopProbe()
        probe.exchange(claimed: [one, two])
        for attempt in [one, two] { probe.send(.returned(attempt)) }
        #expect(probe.send(.lapsed(limit: .seconds(2))) == [])
        #expect(probe.send(LoopProbe.ended(one, .notRun)) == [])
        // The next life does not wait for saves.
        probe.now += .seconds(2)
        #expect(probe.send(.uptimeAlarm(random: 0.5)) == ["abandon 2", "lapse over"])
        #expect(probe.send(LoopProbe.ended(two, .notRun)) == ["late 2"])
        #expect(probe.loop.beginExchange() == nil)
    }

    @Test func wakeDuringAnExchangeIsNotLost() {
        var probe = LoopProbe()
        _ = probe.loop.beginExchange()
        #expect(probe.after(.wake) == "-")
        #expect(probe.after(LoopProbe.exchange()) == "exchange(claim 2)")
        #expect(probe.after(LoopProbe.exchange()) == "-")
    }

    @Test func dueTimeHeardDuringAnExchangeIsNotLost() {
        var probe = LoopProbe()
        _ = probe.loop.beginExchange()
        probe.send(.due(LoopProbe.wall + .seconds(3)))
        #expect(probe.after(LoopProbe.exchange(nextDueAt: LoopProbe.wall + .seconds(9))) == "wall +3000")
    }

    @Test func fullClaimAsksAgain() {
        let attempts = (1...2).map { LoopProbe.attempt($0, timeout: nil) }
        var probe = LoopProbe(settings: RunnerSettings(slots: 2))
        probe.exchange(claimed: attempts)
        #expect(probe.after(.settings(RunnerSettings(slots: 5))) == "exchange(claim 3)")
    }

    /// P8: only the store knows when waits end on the new clock.
    @Test func clockSetBackKeepsTheAlarmAndAsksTheStore() {
        var probe = LoopProbe()
        probe.exchange(nextDueAt: LoopProbe.wall + .seconds(60))
        #expect(probe.after(.wallAlarm(LoopProbe.wall + .seconds(-3600))) == "wall +60000, exchange(claim 2)")
    }

    /// P8: the answer in flight counts with the clock before, so the store is asked again.
    @Test func clockSetBackDuringAnExchangeAsksAgain() {
        var probe = LoopProbe()
        _ = probe.loop.beginExchange()
        #expect(probe.after(.wallAlarm(LoopProbe.wall + .seconds(-3600))) == "-")
        #expect(
            probe.after(LoopProbe.exchange(nextDueAt: LoopProbe.wall + .seconds(3)))
                == "wall +3000, exchange(claim 2)")
        #expect(
            probe.after(LoopProbe.exchange(nextDueAt: LoopProbe.wall + .seconds(-3597))) == "wall +-3597000")
    }

    /// P8: a job whose wait was computed with the clock before may be accepted right after this.
    @Test func clockSetBackWhileNothingIsDueAsksTheStore() {
        var probe = LoopProbe()
        probe.exchange()
        #expect(probe.after(.wallAlarm(LoopProbe.wall + .seconds(-3600))) == "exchange(claim 2)")
    }

    @Test func clockSetForwardClaimsWhatIsDue() {
        var probe = LoopProbe()
        probe.exchange(nextDueAt: LoopProbe.wall + .seconds(60))
        #expect(probe.after(.wallAlarm(LoopProbe.wall + .seconds(3600))) == "exchange(claim 2)")
    }

    @Test func cancelBetweenClaimAndStartStartsNothing() {
        let one = LoopProbe.attempt(1)
        var probe = LoopProbe()
        _ = probe.loop.beginExchange()
        probe.send(.cancelRequested(one.lease.job))
        #expect(probe.after(LoopProbe.exchange(claimed: [one])) == "exchange(1 cancelled, claim 2)")
    }

    @Test func drainBetweenClaimAndStartStartsNothing() {
        let one = LoopProbe.attempt(1)
        var probe = LoopProbe()
        _ = probe.loop.beginExchange()
        probe.send(.drain(limit: .seconds(10)))
        #expect(probe.after(LoopProbe.exchange(claimed: [one])) == "uptime +10s, exchange(1 interrupted)")
        #expect(probe.after(LoopProbe.exchange()) == "end, ended")
    }

    @Test func earlierDrainLimitWinsAndALaterOneDoesNot() {
        let one = LoopProbe.attempt(1)
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        #expect(probe.after(.drain(limit: .seconds(10))) == "uptime +10s")
        #expect(probe.after(.drain(limit: .seconds(20))) == "uptime +10s")
        #expect(probe.after(.drain(limit: .seconds(4))) == "uptime +4s")
    }

    @Test func refusedEndsGoAgainWithWhatCameMeanwhile() {
        let one = LoopProbe.attempt(1, timeout: nil)
        let two = LoopProbe.attempt(2, timeout: nil)
        var probe = LoopProbe()
        probe.exchange(claimed: [one, two])
        #expect(probe.after(LoopProbe.ended(one)) == "exchange(1 succeeded, claim 1)")
        #expect(probe.after(LoopProbe.ended(two)) == "-")
        #expect(probe.after(.exchangeFailed(.diskFull(path: "x"))) == "uptime +100ms")
        #expect(probe.loop.snapshot(now: probe.now).unrecorded == 2)
        probe.now += .milliseconds(100)
        #expect(
            probe.after(.uptimeAlarm(random: 0)) == "exchange(1 succeeded, 2 succeeded, claim 2)")
        #expect(probe.after(.exchangeFailed(.diskFull(path: "x"))) == "uptime +200ms")
    }

    @Test func backoffStopsGrowingAtFiveSeconds() {
        var probe = LoopProbe()
        var waits: [String] = []
        for _ in 1...8 {
            _ = probe.loop.beginExchange()
            waits.append(probe.after(.exchangeFailed(.busy(waitedMilliseconds: 1))))
            if let moment = probe.loop.uptimeAlarmAt { probe.now = moment }
            probe.send(.uptimeAlarm(random: 0))
        }
        #expect(waits.first == "uptime +100ms")
        #expect(waits.suffix(2) == ["uptime +5s", "uptime +5s"])
    }

    @Test func storeThatStaysFullAfterTheInterruptEndsWithAnError() {
        let one = LoopProbe.attempt(1)
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.send(.interrupt)
        #expect(probe.after(LoopProbe.ended(one, .notRun)) == "exchange(1 interrupted)")
        probe.now += .seconds(10)
        #expect(probe.after(.exchangeFailed(.diskFull(path: "x"))) == "end with error, ended")
    }

    /// A watchdog must not be told of progress that nothing will come of.
    @Test func noProofWhileEverySlotIsHeldByAnAttemptGivenUp() {
        let one = LoopProbe.attempt(1)
        var probe = LoopProbe(settings: RunnerSettings(slots: 1))
        probe.exchange(claimed: [one])
        if let moment = probe.loop.uptimeAlarmAt { probe.now = moment }
        probe.send(.uptimeAlarm(random: 0))
        if let moment = probe.loop.uptimeAlarmAt { probe.now = moment }
        probe.send(.uptimeAlarm(random: 0))
        probe.exchange(claimed: [])
        #expect(probe.loop.snapshot(now: probe.now).abandoned == 1)
        probe.send(.proofWanted(Latch()))
        #expect(proof(in: answer(&probe)) == false)
        probe.send(LoopProbe.ended(one))
        probe.exchange(claimed: [])
        probe.send(.proofWanted(Latch()))
        #expect(proof(in: answer(&probe)) == true)
    }

    private func answer(_ probe: inout LoopProbe) -> [ClaimLoop.Action] {
        _ = probe.loop.beginExchange()
        return probe.loop.handle(LoopProbe.exchange(), now: probe.now)
    }

    private func proof(in actions: [ClaimLoop.Action]) -> Bool? {
        for case .prove(_, let isProof) in actions { return isProof }
        return nil
    }

    @Test func stoppedStoreEndsAnIdleLoop() {
        var probe = LoopProbe()
        probe.exchange(claimed: [])
        #expect(probe.after(.storeFailed(.commitUnknown(code: 1, message: "x"))) == "end with error, ended")
    }

    @Test func unknownCommitEndsTheLoopAtOnce() {
        let one = LoopProbe.attempt(1)
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        _ = probe.loop.beginExchange()
        probe.send(.wake)
        _ = probe.loop.beginExchange()
        #expect(
            probe.after(.exchangeFailed(.commitUnknown(code: 10, message: "I/O")))
                == "stop 1 the runner is stopping, end with error, ended")
    }

    @Test func abandonedAttemptIsRecordedOnceAndKeepsItsSlot() {
        let one = LoopProbe.attempt(1, timeout: .seconds(3), retry: RetryPolicy(tries: 2))
        var probe = LoopProbe()
        probe.exchange(claimed: [one])
        probe.now += .seconds(3)
        #expect(probe.after(.uptimeAlarm(random: 0)) == "stop 1 timeout, uptime +5s")
        probe.now += .seconds(5)
        #expect(
            probe.after(.uptimeAlarm(random: 0)) == "abandon 1, exchange(1 retry timed_out +0, claim 1)"
        )
        #expect(probe.loop.snapshot(now: probe.now).abandoned == 1)
        #expect(probe.after(LoopProbe.exchange()) == "-")
        #expect(probe.after(LoopProbe.ended(one)) == "late 1, exchange(claim 2)")
        #expect(probe.loop.snapshot(now: probe.now).abandoned == 0)
    }

    @Test func idleLoopWantsNothing() {
        let attempts = (1...2).map { LoopProbe.attempt($0) }
        var probe = LoopProbe()
        probe.exchange(claimed: attempts)
        for attempt in attempts { probe.send(LoopProbe.ended(attempt)) }
        #expect(probe.exchange() == [])
        #expect(!probe.loop.wantsExchange)
        #expect(probe.loop.uptimeAlarmAt == nil)
        #expect(probe.loop.wallAlarmAt == nil)
    }
}
