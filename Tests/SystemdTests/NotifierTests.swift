import Synchronization
import Testing

@testable import Systemd

@Suite struct NotifierTests {
    @Test(arguments: [DatagramListener.Space.path, .abstract])
    func everyMessageArrivesInTheWordsOfTheProtocol(space: DatagramListener.Space) throws {
        let manager = try DatagramListener(space)
        let notifier = Notifier(manager.address)
        #expect(notifier.isHeard)
        notifier.send(.ready, .status("idle"))
        notifier.send(.watchdog)
        notifier.send(.watchdogTrigger)
        notifier.send(.stopping)
        notifier.send(.extendTimeout(by: .milliseconds(1500)))
        notifier.send(.errno(28))
        #expect(
            manager.received() == [
                "READY=1\nSTATUS=idle\n", "WATCHDOG=1\n", "WATCHDOG=trigger\n", "STOPPING=1\n",
                "EXTEND_TIMEOUT_USEC=1500000\n", "ERRNO=28\n",
            ])
    }

    @Test func reloadingCarriesTheMonotonicClock() throws {
        let manager = try DatagramListener(.path)
        let before = ContinuousClock.now
        Notifier(manager.address).reloading()
        let message = try #require(manager.received().first)
        let lines = message.split(separator: "\n")
        #expect(lines.first == "RELOADING=1")
        let value = try #require(lines.last?.split(separator: "=").last.flatMap { UInt64($0) })
        #expect(value > 0)
        #expect(lines.last?.hasPrefix("MONOTONIC_USEC=") == true)
        #expect(before <= .now)
    }

    @Test func theSameStatusIsSaidOnce() throws {
        let manager = try DatagramListener(.path)
        let notifier = Notifier(manager.address)
        notifier.status("idle")
        notifier.status("idle")
        notifier.status("running 1")
        notifier.status("idle")
        #expect(manager.received() == ["STATUS=idle\n", "STATUS=running 1\n", "STATUS=idle\n"])
    }

    @Test func aStatusCannotSmuggleAnotherMessage() throws {
        let manager = try DatagramListener(.path)
        Notifier(manager.address).status("bad\nREADY=1\u{1b}[2J\u{202e}")
        #expect(manager.received() == ["STATUS=bad\\nREADY=1\\x1b[2J\\u{202e}\n"])
    }

    /// A slow manager, for example one that is reloading its units, must not miss that the service is ready.
    @Test func aChangeOfStateWaitsForAManagerThatIsBehind() throws {
        let manager = try DatagramListener(.path)
        let failures = Mutex([NotifyError]())
        let notifier = Notifier(manager.address, patience: .milliseconds(20)) { error in
            failures.withLock { $0.append(error) }
        }
        // Fills the socket's buffer.
        var number = 0
        while failures.withLock({ $0.isEmpty }) {
            number += 1
            notifier.status("\(number)")
        }
        let clock = ContinuousClock()
        let status = clock.measure { notifier.status("lost") }
        let ready = clock.measure { notifier.send(.ready) }
        #expect(status >= .milliseconds(20))
        #expect(ready >= .milliseconds(15 * 20))
        #expect(failures.withLock { $0.count } == 3)
        #expect(manager.received().count == number - 1)
        // A lost status is sent again, although it equals the previous one.
        notifier.status("lost")
        #expect(manager.received() == ["STATUS=lost\n"])
    }

    @Test func withoutAnAddressNothingIsSentAndNothingFails() {
        let failures = Mutex([NotifyError]())
        let notifier = Notifier(nil) { error in failures.withLock { $0.append(error) } }
        notifier.send(.ready)
        notifier.status("idle")
        #expect(!notifier.isHeard)
        #expect(failures.withLock { $0 } == [])
    }

    @Test(arguments: ["relative", "@", "/", "vsock:2:1", "/" + String(repeating: "x", count: 107)])
    func anImpossibleAddressIsReported(address: String) {
        let failures = Mutex([NotifyError]())
        let notifier = Notifier(address) { error in failures.withLock { $0.append(error) } }
        #expect(!notifier.isHeard)
        #expect(failures.withLock { $0 } == [.badAddress(address)])
    }

    @Test func aManagerThatIsGoneIsReportedAndHarmless() throws {
        let failures = Mutex([NotifyError]())
        let address = try DatagramListener(.path).address
        Notifier(address) { error in failures.withLock { $0.append(error) } }.send(.ready)
        #expect(failures.withLock { $0 } == [.failed(call: "sendto", errno: 2)])
    }
}
