import Jobs
import Samples
import Testing

@testable import Runner

/// One life, the moments of its clock, and what an event does to it, told as text.
struct LifeProbe {
    var loop = LifeLoop(grace: .seconds(5))
    var now = Duration.seconds(100)

    static let unreachable = StoreError.unreachable(server: "db", message: "refused")

    static func life(_ id: Int64 = 1, length: Duration? = .seconds(30), hasOrphans: Bool = false) -> HolderLife {
        HolderLife(id: HolderID(id), length: length, hasOrphans: hasOrphans)
    }

    /// A probe whose first life began at 100 s and serves.
    static func serving(length: Duration? = .seconds(30)) -> LifeProbe {
        var probe = LifeProbe()
        _ = probe.send(.began(life(length: length), sentAt: probe.now))
        _ = probe.loop.takeFirstRescue()
        _ = probe.send(.rescued)
        return probe
    }

    mutating func send(_ event: LifeLoop.Event) -> [LifeLoop.Action] { loop.handle(event, now: now) }

    mutating func send(_ event: LifeLoop.Event, at seconds: Int) -> [LifeLoop.Action] {
        now = .seconds(seconds)
        return send(event)
    }

    var alarm: Duration? { loop.alarmAt }
}

@Suite struct LifeLoopTests {
    private let one = HolderID(1)

    @Test func l6JobsAreClaimedOnlyAfterTheFirstRescue() {
        var probe = LifeProbe()
        #expect(probe.send(.began(LifeProbe.life(), sentAt: probe.now)) == [])
        #expect(probe.loop.takeFirstRescue() == one)
        #expect(probe.send(.rescued) == [.serve(one)])
        // Another rescue does not begin the life again.
        #expect(probe.send(.othersChanged) == [.rescue(one)])
        #expect(probe.send(.rescued) == [])
    }

    @Test func l7ALifeWithoutALengthHasNoAlarm() {
        var probe = LifeProbe.serving(length: nil)
        #expect(probe.alarm == nil)
        #expect(probe.send(.alarm, at: 1_000_000) == [])
        #expect(probe.loop.holder == one)
    }

    @Test func aLifeIsRenewedEachThirdOfItsLength() {
        var probe = LifeProbe.serving()
        #expect(probe.alarm == .seconds(110))
        #expect(probe.send(.alarm, at: 109) == [])
        #expect(probe.send(.alarm, at: 110) == [.renew(one)])
        // L3: no second request while one is in flight; only the lapse is left to wait for.
        #expect(probe.send(.alarm, at: 112) == [])
        #expect(probe.alarm == .seconds(122))
        #expect(probe.send(.renewed(.renewed(LifeProbe.life()), of: one, sentAt: .seconds(110)), at: 113) == [])
        #expect(probe.alarm == .seconds(120))
    }

    @Test func l2ALateAnswerExtendsTheLifeOnlyFromItsRequest() {
        var probe = LifeProbe.serving()
        _ = probe.send(.alarm, at: 110)
        let late = LifeLoop.Event.renewed(.renewed(LifeProbe.life()), of: one, sentAt: .seconds(110))
        #expect(probe.send(late, at: 121) == [.renew(one)])
        // 110 + 30, less 5 of grace and 3 for slowness.
        #expect(probe.alarm == .seconds(132))
    }

    @Test func l1AttemptsStopBeforeTheLifeMayEnd() {
        var probe = LifeProbe.serving()
        var actions: [LifeLoop.Action] = []
        while let alarm = probe.alarm, alarm < .seconds(130) {
            probe.now = max(probe.now, alarm)
            actions = probe.send(.alarm)
            if actions == [.renew(one)] { actions = probe.send(.renewalFailed(LifeProbe.unreachable, of: one)) }
            if case .lapse? = actions.first { break }
        }
        // The attempts get their grace period, and are over a tenth of the life before its end.
        #expect(actions == [.lapse(one, limit: .seconds(5))])
        #expect(probe.now == .seconds(122))
        #expect(probe.loop.hasLapsed)
        #expect(probe.loop.holder == nil)
    }

    @Test(arguments: [
        (5, 30, 8), (0, 30, 3), (60, 30, 15), (5, 6, 3), (1, 300, 31),
    ])
    func theMarginCoversTheGraceAndLeavesHalfOfTheLife(_ grace: Int, _ length: Int, _ margin: Int) {
        #expect(LifeLoop.margin(of: .seconds(length), grace: .seconds(grace)) == .seconds(margin))
    }

    @Test func renewalsAreRepeatedAtGrowingIntervals() {
        var probe = LifeProbe.serving()
        _ = probe.send(.alarm, at: 110)
        var waits: [Duration] = []
        for _ in 1...4 {
            _ = probe.send(.renewalFailed(LifeProbe.unreachable, of: one))
            let alarm = probe.alarm ?? .zero
            waits.append(alarm - probe.now)
            probe.now = alarm
            #expect(probe.send(.alarm) == [.renew(one)])
        }
        #expect(waits == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
    }

    @Test func anUnansweredRenewalDoesNotExtendTheLife() {
        var probe = LifeProbe.serving()
        _ = probe.send(.alarm, at: 110)
        #expect(probe.send(.renewalFailed(.unanswered(server: "db", message: "reset"), of: one)) == [])
        #expect(probe.send(.alarm, at: 122) == [.lapse(one, limit: .seconds(5))])
    }

    @Test func l4ANewLifeBeginsWhenNoAttemptOfTheOldOneIsLeft() {
        var probe = LifeProbe.serving()
        #expect(probe.send(.ended(one)) == [.lapse(one, limit: .seconds(27))])
        #expect(probe.alarm == nil)
        // L5: the store may have answered before it noticed the end.
        #expect(probe.send(.renewed(.renewed(LifeProbe.life()), of: one, sentAt: probe.now)) == [])
        #expect(probe.loop.hasLapsed)
        #expect(probe.send(.attemptsOver) == [])
        probe.now += .milliseconds(100)
        #expect(probe.send(.alarm) == [.begin])
        #expect(probe.send(.beginFailed(LifeProbe.unreachable)) == [])
        #expect(probe.alarm == probe.now + .milliseconds(100))
        probe.now += .milliseconds(100)
        #expect(probe.send(.alarm) == [.begin])
        #expect(probe.send(.began(LifeProbe.life(2), sentAt: probe.now)) == [.rescue(HolderID(2))])
        #expect(probe.send(.rescued) == [.serve(HolderID(2))])
        #expect(!probe.loop.hasLapsed)
    }

    @Test func livesThatEndAtOnceFollowEachOtherAtGrowingIntervals() {
        var probe = LifeProbe.serving()
        var waits: [Duration] = []
        for id in 1...4 {
            _ = probe.send(.ended(HolderID(Int64(id))))
            _ = probe.send(.attemptsOver)
            let alarm = probe.alarm ?? .zero
            waits.append(alarm - probe.now)
            probe.now = alarm
            #expect(probe.send(.alarm) == [.begin])
            _ = probe.send(.began(LifeProbe.life(Int64(id) + 1), sentAt: probe.now))
        }
        #expect(waits == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
        // After a renewal, the next life begins without a wait.
        let five = HolderID(5)
        probe.now += .seconds(10)
        _ = probe.send(.alarm)
        _ = probe.send(.renewed(.renewed(LifeProbe.life(5)), of: five, sentAt: probe.now))
        _ = probe.send(.ended(five))
        #expect(probe.send(.attemptsOver).contains(.begin))
    }

    @Test func aLifeThatLapsesBeforeItsFirstRescueIsFollowedByAnother() {
        var probe = LifeProbe()
        _ = probe.send(.began(LifeProbe.life(), sentAt: probe.now))
        #expect(probe.send(.alarm, at: 200) == [.lapse(one, limit: .zero)])
        #expect(probe.loop.takeFirstRescue() == nil)
        #expect(probe.send(.attemptsOver) == [.begin])
        #expect(probe.send(.began(LifeProbe.life(2), sentAt: probe.now)) == [.rescue(HolderID(2))])
    }

    @Test func aRescueThatIsWantedDuringAnotherFollowsIt() {
        var probe = LifeProbe.serving()
        #expect(probe.send(.othersChanged) == [.rescue(one)])
        #expect(probe.send(.othersChanged) == [])
        #expect(probe.send(.rescued) == [.rescue(one)])
        #expect(probe.send(.rescued) == [])
    }

    @Test func aFailedRescueIsRepeated() {
        var probe = LifeProbe.serving()
        _ = probe.send(.othersChanged)
        #expect(probe.send(.rescueFailed(LifeProbe.unreachable)) == [])
        #expect(probe.alarm == probe.now + .milliseconds(100))
        probe.now += .milliseconds(100)
        #expect(probe.send(.alarm) == [.rescue(one)])
    }

    @Test func aRenewalThatFindsOrphansAsksForARescue() {
        var probe = LifeProbe.serving()
        _ = probe.send(.alarm, at: 110)
        let renewed = Renewal.renewed(LifeProbe.life(hasOrphans: true))
        #expect(probe.send(.renewed(renewed, of: one, sentAt: .seconds(110))) == [.rescue(one)])
    }

    @Test func anErrorThatDoesNotPassEndsTheRunner() {
        var probe = LifeProbe.serving()
        _ = probe.send(.alarm, at: 110)
        #expect(probe.send(.renewalFailed(.closed, of: one)) == [.fail(.closed)])
        #expect(probe.send(.rescueFailed(.closed)) == [.fail(.closed)])
    }

    @Test func nothingFollowsTheGoodbye() {
        var probe = LifeProbe.serving()
        #expect(probe.send(.leave) == [])
        #expect(probe.alarm == nil)
        #expect(probe.send(.alarm, at: 1000) == [])
        #expect(probe.send(.othersChanged) == [])
    }

    @Test func anAnswerToALapsedLifeDoesNotConcernTheNext() {
        var probe = LifeProbe.serving()
        _ = probe.send(.alarm, at: 110)
        _ = probe.send(.alarm, at: 122)
        #expect(probe.send(.attemptsOver) == [.begin])
        #expect(probe.send(.renewalFailed(LifeProbe.unreachable, of: one)) == [])
        #expect(probe.alarm == nil)
        _ = probe.send(.began(LifeProbe.life(2), sentAt: probe.now))
        #expect(probe.send(.ended(one)) == [])
        #expect(probe.send(.renewed(.ended, of: one, sentAt: probe.now)) == [])
        #expect(probe.loop.holder == HolderID(2))
    }

    /// Random events never break the rules, whatever their order.
    @Test(arguments: 1...200)
    func randomSequencesKeepTheRules(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        var probe = LifeProbe()
        var last: Int64 = 1
        // The moment at which the store may end the life, by its own clock.
        var endsAt = probe.now + .seconds(30)
        var renewing: (id: HolderID, sentAt: Duration)?
        var (isBeginning, isRescuing, isServing) = (false, true, false)
        _ = probe.send(.began(LifeProbe.life(last), sentAt: probe.now))
        _ = probe.loop.takeFirstRescue()
        for step in 1...300 {
            let place: Comment = "seed \(seed), step \(step)"
            probe.now += .milliseconds(Int64.random(in: 0...4000, using: &random))
            // The alarm rings before any other event of the same moment.
            var events: [LifeLoop.Event] = [.alarm]
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                guard let sent = renewing else { break }
                renewing = nil
                if sent.id == probe.loop.holder { endsAt = sent.sentAt + .seconds(30) }
                events.append(.renewed(.renewed(LifeProbe.life(sent.id.rawValue)), of: sent.id, sentAt: sent.sentAt))
            case 1:
                guard let sent = renewing else { break }
                renewing = nil
                events.append(.renewalFailed(LifeProbe.unreachable, of: sent.id))
            case 2 where isBeginning:
                isBeginning = false
                last += 1
                endsAt = probe.now + .seconds(30)
                events.append(.began(LifeProbe.life(last), sentAt: probe.now))
            case 3 where isBeginning:
                isBeginning = false
                events.append(.beginFailed(LifeProbe.unreachable))
            case 4 where isRescuing:
                isRescuing = false
                events.append(Bool.random(using: &random) ? .rescued : .rescueFailed(LifeProbe.unreachable))
            case 5: events.append(.othersChanged)
            case 6 where !isServing: events.append(.attemptsOver)
            default: break
            }
            for action in events.flatMap({ probe.send($0) }) {
                switch action {
                case .begin:
                    #expect(!isBeginning && !isServing, "L3 and L4: \(place)")
                    isBeginning = true
                case .renew(let id):
                    #expect(renewing?.id != id, "L3: \(place)")
                    renewing = (id, probe.now)
                case .rescue:
                    #expect(!isRescuing, "L3: \(place)")
                    isRescuing = true
                case .serve: isServing = true
                case .lapse(_, let limit):
                    isServing = false
                    let isInTime = limit == .zero || limit.map { probe.now + $0 <= endsAt - .seconds(3) } == true
                    #expect(isInTime, "L1: \(place)")
                case .fail: Issue.record("no error here ends the runner: \(place)")
                }
            }
            #expect(!isServing || probe.now < endsAt - .seconds(8), "L1: \(place)")
        }
    }
}
