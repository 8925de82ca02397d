import CTimerFD
import Glibc
import Jobs
import OperationTypes
import Synchronization
import Testing

@testable import Runner

@Suite struct SystemClockTests {
    /// P8: setting the timer may be what hears that the clock was set. Whoever sets it may hold what ringing takes.
    @Test func clockThatWasSetMeanwhileRingsOnAnotherThread() async throws {
        let rang = Latch<Bool>()
        let held = Mutex(())
        let timer = try KernelTimer(
            clock: CLOCK_REALTIME,
            settime: { _, _, _ in
                errno = ECANCELED
                return -1
            },
            ring: {
                held.withLock { _ in }
                rang.open(with: true)
            })
        held.withLock { _ in timer.set(timespec()) }
        #expect(await rang.uncancellableWait())
    }

    @Test func wallAlarmRingsWhenItsMomentHasCome() async throws {
        let clock = SystemWallClock()
        let rang = Latch<Bool>()
        let alarm = try clock.alarm { rang.open(with: true) }
        let moment = clock.now + .milliseconds(20)
        alarm.set(moment)
        #expect(await rang.uncancellableWait())
        #expect(clock.now >= moment)
    }

    @Test func uptimeAlarmForThePastRingsAtOnce() async throws {
        let clock = SystemUptimeClock()
        let rang = Latch<Bool>()
        let alarm = try clock.alarm { rang.open(with: true) }
        alarm.set(.zero)
        #expect(await rang.uncancellableWait())
    }

    @Test func laterMomentReplacesAnEarlierOne() async throws {
        let clock = SystemUptimeClock()
        let first = Latch<Bool>()
        let second = Latch<Bool>()
        let moved = try clock.alarm { first.open(with: true) }
        let other = try clock.alarm { second.open(with: true) }
        moved.set(clock.now + .milliseconds(10))
        moved.set(clock.now + .seconds(3600))
        other.set(clock.now + .milliseconds(30))
        #expect(await second.uncancellableWait())
        first.open(with: false)
        #expect(await first.uncancellableWait() == false)
    }

    @Test func silencedAlarmDoesNotRing() async throws {
        let clock = SystemWallClock()
        let first = Latch<Bool>()
        let second = Latch<Bool>()
        let silenced = try clock.alarm { first.open(with: true) }
        let other = try clock.alarm { second.open(with: true) }
        silenced.set(clock.now + .milliseconds(10))
        silenced.set(nil)
        other.set(clock.now + .milliseconds(30))
        #expect(await second.uncancellableWait())
        first.open(with: false)
        #expect(await first.uncancellableWait() == false)
    }

    @Test func distantMomentsAreTaken() throws {
        let alarm = try SystemWallClock().alarm {}
        alarm.set(Timestamp(milliseconds: .max))
        alarm.set(Timestamp(milliseconds: .min))
    }
}
