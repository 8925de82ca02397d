import Jobs
import Testing

@testable import Workers

/// The dispatcher's rules, one by one. Times are seconds.
@Suite struct DispatcherTests {
    typealias WorkerID = Dispatcher.WorkerID

    private let one = WorkerID(number: 1)
    private let two = WorkerID(number: 2)

    private func lease(_ job: Int64) -> Lease { Lease(job: JobID(job), attempt: 1) }

    /// A dispatcher whose first process has these attempts, all begun.
    private func running(_ jobs: [Int64], limits: Dispatcher.Limits = .init()) -> Subject {
        let dispatcher = Subject(limits: limits)
        for job in jobs { _ = dispatcher.handle(.run(lease(job), isSuspect: false), now: .zero) }
        _ = dispatcher.handle(.introduced(one), now: .zero)
        _ = dispatcher.handle(.began(one, jobs.map(lease)), now: .zero)
        return dispatcher
    }

    @Test func theFirstAttemptLaunchesAProcessAndIsSentWhenItIsReady() {
        let dispatcher = Subject(limits: .init())
        #expect(
            dispatcher.handle(.run(lease(1), isSuspect: false), now: .zero) == [.launch(one, isProbe: false)])
        #expect(dispatcher.handle(.run(lease(2), isSuspect: false), now: .zero) == [])
        #expect(dispatcher.handle(.introduced(one), now: .zero) == [.send(lease(1), one), .send(lease(2), one)])
    }

    @Test func attemptsGoToTheProcessWithTheFewest() {
        let dispatcher = running([1, 2, 3], limits: .init(processes: 2, attempts: 2))
        // The third attempt does not fit into the first process.
        #expect(dispatcher.handle(.introduced(two), now: .zero) == [.send(lease(3), two)])
        #expect(dispatcher.handle(.ended(one, lease(1)), now: .zero) == [])
        #expect(dispatcher.handle(.ended(one, lease(2)), now: .zero) == [])
        #expect(dispatcher.handle(.run(lease(4), isSuspect: false), now: .zero) == [.send(lease(4), one)])
        #expect(dispatcher.room(now: .zero) == 2)
    }

    @Test func anAttemptThatHadNotBegunWaitsForTheNextProcess() {
        let dispatcher = running([1])
        #expect(dispatcher.handle(.run(lease(2), isSuspect: false), now: .zero) == [.send(lease(2), one)])
        // Only the first had begun.
        #expect(
            dispatcher.handle(.exited(one), now: .zero) == [
                .end(lease(1), .crashed(others: 0, one)), .launch(two, isProbe: false),
            ])
        #expect(dispatcher.handle(.introduced(two), now: .zero) == [.send(lease(2), two)])
    }

    @Test func allAttemptsThatHadBegunCrashWithTheirProcess() {
        let dispatcher = running([1, 2, 3])
        #expect(
            dispatcher.handle(.exited(one), now: .zero) == [1, 2, 3].map { .end(lease($0), .crashed(others: 2, one)) })
        #expect(dispatcher.isEmpty)
    }

    @Test func aSuspectRunsAloneInAProbe() {
        let dispatcher = running([1], limits: .init(probes: 1))
        #expect(dispatcher.roomForSuspects(now: .zero) == 1)
        #expect(dispatcher.handle(.run(lease(8), isSuspect: true), now: .zero) == [.launch(two, isProbe: true)])
        #expect(dispatcher.roomForSuspects(now: .zero) == 0)
        #expect(dispatcher.handle(.run(lease(9), isSuspect: true), now: .zero) == [])
        #expect(dispatcher.handle(.introduced(two), now: .zero) == [.send(lease(8), two)])
        // An ordinary attempt never joins it.
        #expect(dispatcher.handle(.run(lease(2), isSuspect: false), now: .zero) == [.send(lease(2), one)])
        // The probe is used again until it dies.
        #expect(dispatcher.handle(.ended(two, lease(8)), now: .zero) == [.send(lease(9), two)])
        _ = dispatcher.handle(.began(two, [lease(9)]), now: .zero)
        #expect(dispatcher.handle(.exited(two), now: .zero) == [.end(lease(9), .crashed(others: 0, two))])
    }

    @Test func aLongSuspectDoesNotKeepTheOthersWaiting() {
        let dispatcher = Subject(limits: .init(probes: 1, longProbes: 1, probation: .seconds(15)))
        #expect(dispatcher.handle(.run(lease(8), isSuspect: true), now: .zero) == [.launch(one, isProbe: true)])
        _ = dispatcher.handle(.introduced(one), now: .zero)
        _ = dispatcher.handle(.began(one, [lease(8)]), now: .zero)
        #expect(dispatcher.handle(.run(lease(9), isSuspect: true), now: .seconds(1)) == [])
        #expect(dispatcher.alarmAt == .seconds(10))
        _ = dispatcher.handle(.alarm, now: .seconds(10))
        #expect(dispatcher.alarmAt == .seconds(15))
        #expect(dispatcher.handle(.alarm, now: .seconds(15)) == [.launch(two, isProbe: true)])
    }

    @Test func aProcessWithOnlyAbandonedAttemptsIsKilled() {
        let dispatcher = running([1, 2])
        #expect(dispatcher.handle(.abandon(lease(1), after: .seconds(5)), now: .zero) == [])
        // It gets no other attempt.
        #expect(
            dispatcher.handle(.run(lease(3), isSuspect: false), now: .zero) == [.launch(two, isProbe: false)])
        #expect(
            dispatcher.handle(.ended(one, lease(2)), now: .zero)
                == [.kill(one, .abandonedAttempt(lease(1), after: .seconds(5)))])
        #expect(dispatcher.handle(.exited(one), now: .zero) == [.end(lease(1), .notRun)])
    }

    @Test func neighboursOfAnAbandonedAttemptThatTakeTooLongAreReturned() {
        let dispatcher = running([1, 2])
        _ = dispatcher.handle(.abandon(lease(1), after: .seconds(5)), now: .zero)
        #expect(
            dispatcher.handle(.alarm, now: .seconds(60))
                == [.kill(one, .abandonedAttempt(lease(1), after: .seconds(5)))])
        #expect(
            dispatcher.handle(.exited(one), now: .seconds(60)) == [.end(lease(1), .notRun), .end(lease(2), .notRun)])
    }

    @Test func anAnswerForSomebodyElsesLeaseEndsTheProcess() {
        let dispatcher = running([1])
        #expect(dispatcher.handle(.ended(one, lease(7)), now: .zero) == [.kill(one, .violation)])
        #expect(dispatcher.handle(.exited(one), now: .zero) == [.end(lease(1), .crashed(others: 0, one))])
    }

    @Test func aProgramThatDoesNotStartRestsLongerEachTime() {
        let dispatcher = Subject(limits: .init())
        _ = dispatcher.handle(.run(lease(1), isSuspect: false), now: .zero)
        #expect(dispatcher.handle(.exited(one), now: .zero) == [.rest(.seconds(1)), .end(lease(1), .notRun)])
        #expect(dispatcher.room(now: .zero) == 0)
        #expect(dispatcher.roomForSuspects(now: .zero) == 0)
        #expect(dispatcher.alarmAt == .seconds(1))
        #expect(dispatcher.handle(.run(lease(1), isSuspect: false), now: .zero) == [.end(lease(1), .notRun)])
        #expect(dispatcher.handle(.alarm, now: .seconds(1)) == [])
        #expect(dispatcher.alarmAt == nil)
        #expect(
            dispatcher.handle(.run(lease(1), isSuspect: false), now: .seconds(1)) == [.launch(two, isProbe: false)])
        #expect(
            dispatcher.handle(.exited(two), now: .seconds(1)) == [.rest(.seconds(2)), .end(lease(1), .notRun)])
    }

    @Test func aProgramThatDiesAgainAndAgainRests() {
        let dispatcher = Subject(limits: .init())
        var actions: [Dispatcher.Action] = []
        for number in 1...5 {
            _ = dispatcher.handle(.run(lease(Int64(number)), isSuspect: false), now: .seconds(number))
            let worker = WorkerID(number: number)
            _ = dispatcher.handle(.introduced(worker), now: .seconds(number))
            _ = dispatcher.handle(.began(worker, [lease(Int64(number))]), now: .seconds(number))
            actions = dispatcher.handle(.exited(worker), now: .seconds(number))
        }
        #expect(actions.last == .rest(.seconds(1)))
    }

    @Test func anIdleProcessIsLetGo() {
        let dispatcher = running([1])
        _ = dispatcher.handle(.ended(one, lease(1)), now: .seconds(5))
        #expect(dispatcher.alarmAt == .seconds(35))
        #expect(dispatcher.handle(.alarm, now: .seconds(35)) == [.drain(one)])
        #expect(dispatcher.handle(.exited(one), now: .seconds(35)) == [])
        #expect(dispatcher.alarmAt == nil)
    }

    @Test func aProcessThatDoesNotExitIsKilled() {
        let dispatcher = running([1])
        #expect(dispatcher.handle(.close, now: .zero) == [.drain(one)])
        #expect(dispatcher.handle(.alarm, now: .seconds(10)) == [.kill(one, .didNotExit(after: .seconds(10)))])
        _ = dispatcher.handle(.exited(one), now: .seconds(10))
        #expect(dispatcher.isEmpty)
    }

    @Test func aProcessThatDoesNotIntroduceItselfIsKilled() {
        let dispatcher = Subject(limits: .init())
        _ = dispatcher.handle(.needed, now: .zero)
        #expect(
            dispatcher.handle(.alarm, now: .seconds(20)) == [.kill(one, .notIntroduced(after: .seconds(20)))])
        #expect(dispatcher.handle(.exited(one), now: .seconds(20)) == [.rest(.seconds(1))])
    }

    @Test func aHungProcessIsKilledIfItHasSeveralAttemptsOrIsStopped() {
        let dispatcher = running([1, 2])
        #expect(dispatcher.handle(.alarm, now: .seconds(10)) == [.ping(one, id: 1)])
        for second in stride(from: 20, to: 70, by: 10) {
            #expect(dispatcher.handle(.alarm, now: .seconds(second)) == [])
        }
        #expect(dispatcher.handle(.alarm, now: .seconds(70)) == [.kill(one, .hung(after: .seconds(60)))])
        let single = running([1])
        #expect(single.handle(.alarm, now: .seconds(10)) == [.ping(one, id: 1)])
        #expect(single.handle(.alarm, now: .seconds(69)) == [])
        #expect(single.handle(.alarm, now: .seconds(500)) == [.examine(one)])
        _ = single.handle(.pong(one, id: 1), now: .seconds(500))
        #expect(single.handle(.stopped(one), now: .seconds(500)) == [])
        #expect(single.handle(.alarm, now: .seconds(510)) == [.ping(one, id: 2)])
        #expect(single.handle(.stopped(one), now: .seconds(570)) == [])
        #expect(single.handle(.alarm, now: .seconds(580)) == [.examine(one)])
        #expect(single.handle(.stopped(one), now: .seconds(580)) == [.kill(one, .hung(after: .seconds(60)))])
    }

    @Test func aProcessThatBeginsNothingIsKilledAndItsAttemptsWait() {
        let subject = Subject(limits: .init(attempts: 2))
        _ = subject.handle(.run(lease(1), isSuspect: false), now: .zero)
        #expect(subject.handle(.introduced(one), now: .zero) == [.send(lease(1), one)])
        #expect(subject.handle(.run(lease(2), isSuspect: false), now: .seconds(30)) == [.send(lease(2), one)])
        #expect(subject.handle(.alarm, now: .seconds(30)) == [.ping(one, id: 1)])
        _ = subject.handle(.pong(one, id: 1), now: .seconds(30))
        #expect(
            subject.handle(.alarm, now: .seconds(60)) == [.kill(one, .beganNothing(after: .seconds(60)))])
        // They never began, so neither loses a try.
        let actions = subject.handle(.exited(one), now: .seconds(60))
        #expect(!actions.contains { if case .end = $0 { true } else { false } })
    }

    @Test func aProcessThatWorksOnOneAttemptAfterTheOtherIsNotKilled() {
        let subject = Subject(limits: .init(attempts: 2))
        _ = subject.handle(.run(lease(1), isSuspect: false), now: .zero)
        _ = subject.handle(.introduced(one), now: .zero)
        _ = subject.handle(.run(lease(2), isSuspect: false), now: .zero)
        _ = subject.handle(.began(one, [lease(1)]), now: .seconds(1))
        _ = subject.handle(.alarm, now: .seconds(10))
        _ = subject.handle(.pong(one, id: 1), now: .seconds(10))
        _ = subject.handle(.ended(one, lease(1)), now: .seconds(59))
        #expect(!subject.handle(.alarm, now: .seconds(70)).contains { if case .kill = $0 { true } else { false } })
    }

    @Test func newSettingsReachOnlyNewProcesses() {
        let dispatcher = running([1])
        #expect(dispatcher.handle(.renew, now: .zero) == [])
        #expect(
            dispatcher.handle(.run(lease(2), isSuspect: false), now: .zero) == [.launch(two, isProbe: false)])
        #expect(dispatcher.handle(.ended(one, lease(1)), now: .zero) == [.drain(one)])
    }

    @Test func newSettingsEndARest() {
        let dispatcher = Subject(limits: .init())
        _ = dispatcher.handle(.needed, now: .zero)
        #expect(dispatcher.handle(.exited(one), now: .zero) == [.rest(.seconds(1))])
        #expect(dispatcher.handle(.needed, now: .zero) == [])
        #expect(dispatcher.handle(.renew, now: .zero) == [])
        #expect(dispatcher.handle(.needed, now: .zero) == [.launch(two, isProbe: false)])
        // The next rest is as short as the first.
        #expect(dispatcher.handle(.exited(two), now: .zero) == [.rest(.seconds(1))])
    }

    /// I8.
    @Test func aRetiredProgramEndsItsAttemptsAndStartsNoOthers() {
        let dispatcher = running([1, 2], limits: .init(attempts: 2))
        _ = dispatcher.handle(.run(lease(3), isSuspect: false), now: .zero)
        #expect(dispatcher.handle(.retire, now: .zero) == [.end(lease(3), .notRun)])
        #expect(dispatcher.room(now: .zero) == 0 && dispatcher.roomForSuspects(now: .zero) == 0)
        #expect(dispatcher.handle(.run(lease(4), isSuspect: true), now: .zero) == [.end(lease(4), .notRun)])
        #expect(dispatcher.handle(.ended(one, lease(1)), now: .zero) == [])
        #expect(dispatcher.handle(.ended(one, lease(2)), now: .zero) == [.drain(one)])
        #expect(dispatcher.handle(.exited(one), now: .zero) == [])
        #expect(dispatcher.isEmpty)
    }

    @Test func aWithdrawnAttemptEndsUnlessItWasSent() {
        let dispatcher = Subject(limits: .init())
        _ = dispatcher.handle(.run(lease(1), isSuspect: false), now: .zero)
        #expect(dispatcher.handle(.withdraw(lease(1)), now: .zero) == [.end(lease(1), .notRun)])
        let sent = running([1])
        #expect(sent.handle(.withdraw(lease(1)), now: .zero) == [])
    }
}

/// A dispatcher that an expectation can change.
private final class Subject {
    private var dispatcher: Dispatcher

    init(limits: Dispatcher.Limits) { dispatcher = Dispatcher(limits: limits) }

    func handle(_ event: Dispatcher.Event, now: Duration) -> [Dispatcher.Action] { dispatcher.handle(event, now: now) }
    func room(now: Duration) -> Int { dispatcher.room(now: now) }
    func roomForSuspects(now: Duration) -> Int { dispatcher.roomForSuspects(now: now) }
    var alarmAt: Duration? { dispatcher.alarmAt }
    var isEmpty: Bool { dispatcher.isEmpty }
}
