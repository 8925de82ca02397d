import Dispatch
import Logging
import Programs
import ServiceLifecycle
import Synchronization
import Systemd
import Testing

@testable import Daemon

@Suite(.serialized) struct WatchdogTests {
    /// The daemon in this process, with a claim loop that a barrier holds up.
    private struct Frozen {
        let bed: TestBed
        let barrier = Barrier()
        var configuration = DaemonConfiguration()
        var surroundings = DaemonSurroundings()

        init() throws {
            bed = try TestBed()
            configuration.database = bed.database
            configuration.socket = bed.socket
            configuration.definitions = nil
            surroundings.notifier = Notifier(bed.notifications.address)
            surroundings.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            surroundings.beforeEachExchange = { [barrier] in await barrier.pass() }
        }

        /// Whatever happens, the loop is let go and the daemon has ended afterwards.
        func run(_ body: (DaemonHandle) async throws -> Void) async throws {
            var surroundings = surroundings
            let (handles, ready) = AsyncStream.makeStream(of: DaemonHandle.self)
            surroundings.onReady = { ready.yield($0) }
            try await withThrowingTaskGroup(of: Void.self) { [surroundings] group in
                group.addTask { try await Daemon.run(configuration, in: surroundings) }
                var iterator = handles.makeAsyncIterator()
                let handle = try #require(await iterator.next())
                defer {
                    barrier.open()
                    handle.stop()
                }
                try await body(handle)
                barrier.open()
                handle.stop()
                try await group.waitForAll()
            }
        }
    }

    /// The process lives, and yet the manager hears no more pings; it is told what hangs, and asked to end it.
    @Test(.timeLimit(.minutes(1)))
    func aFrozenClaimLoopStopsThePingsAndIsTold() async throws {
        var daemon = try Frozen()
        daemon.surroundings.watchdogInterval = .milliseconds(400)
        let heard = daemon.bed.notifications.heard
        try await daemon.run { _ in
            let first = try #require(await heard.first { $0 == "WATCHDOG=1" })
            #expect(await heard.first(from: first.index + 1) { $0 == "WATCHDOG=1" } != nil)
            daemon.barrier.close()
            let from = heard.all.count
            let told = try #require(
                await heard.first(from: from) { $0 == "STATUS=the claim loop makes no progress; a restart recovers" })
            let trigger = try #require(await heard.first(from: from) { $0 == "WATCHDOG=trigger" })
            #expect(trigger.index == told.index + 1)
            let silence = try #require(await daemon.bed.notifications.silence())
            #expect(!heard.all[trigger.index..<silence].contains("WATCHDOG=1"))
            daemon.barrier.open()
            #expect(await heard.first(from: silence) { $0 == "WATCHDOG=1" } != nil)
        }
        #expect(await heard.first { $0 == "STATUS=stopped" } != nil)
    }

    /// An end that does not come asks for no more time, says why, and has itself ended.
    @Test(.timeLimit(.minutes(1)))
    func aStopThatHangsIsTold() async throws {
        var daemon = try Frozen()
        daemon.surroundings.watchdogInterval = .milliseconds(100)
        daemon.surroundings.endPatience = .milliseconds(300)
        daemon.configuration.drainTimeout = .zero
        daemon.configuration.grace = .milliseconds(1)
        let hangs = Mutex<[DaemonFailure]>([])
        daemon.surroundings.onHang = { failure in hangs.withLock { $0.append(failure) } }
        let heard = daemon.bed.notifications.heard
        try await daemon.run { handle in
            daemon.barrier.close()
            // By the next proof.
            await daemon.barrier.somebodyWaits()
            let from = heard.all.count
            handle.stop()
            let told = try #require(
                await heard.first(from: from) {
                    $0.hasPrefix("STATUS=the daemon was asked to stop 302ms ago, but the ")
                })
            #expect(await heard.first(from: told.index) { $0 == "WATCHDOG=trigger" } != nil)
            let silence = try #require(await daemon.bed.notifications.silence())
            #expect(heard.all[from..<silence].filter { $0.hasPrefix("EXTEND_TIMEOUT_USEC=") }.count == 1)
            #expect(hangs.withLock { $0.last }?.status == .inputOutput)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func noPingWithoutAProof() async throws {
        let bed = try TestBed()
        let proofs = Mutex(3)
        try await service(bed, whatHangs: { nil }) {
            proofs.withLock { left in
                left -= 1
                return left >= 0
            }
        }.run()
        await bed.notifications.heard.first { $0 == "WATCHDOG=1" }
        #expect(bed.notifications.heard.all.filter { $0 == "WATCHDOG=1" }.count <= 3)
        #expect(!bed.notifications.heard.all.contains("WATCHDOG=trigger"))
        #expect(proofs.withLock { $0 } == -1)
    }

    @Test(.timeLimit(.minutes(1)))
    func aWaitForTheServerBecomesAHangAfterAWhile() async throws {
        let bed = try TestBed()
        let (barrier, heard) = (Barrier(), bed.notifications.heard)
        barrier.close()
        var watchdog = service(bed, interval: .seconds(16), whatHangs: { "the database does not respond" }) {
            await barrier.pass()
            return false
        }
        watchdog.awaitsServer = { true }
        watchdog.serverPatience = .seconds(9)
        let run = Task { [watchdog] in try await watchdog.run() }
        let told = try #require(await heard.first { $0 != "WATCHDOG=1" })
        #expect(told.line == "STATUS=the database does not respond")
        #expect(told.index >= 3)
        #expect(await heard.first { $0 == "WATCHDOG=trigger" } != nil)
        run.cancel()
        barrier.open()
        try await run.value
        #expect(heard.all.last == "WATCHDOG=trigger")
    }

    /// A loop that turns while every slot is held by a job that never stops makes no progress.
    @Test(.timeLimit(.minutes(1)))
    func noProgressTwiceIsTold() async throws {
        let bed = try TestBed()
        let proofs = Mutex(0)
        let isOver = Mutex(false)
        try await service(bed, whatHangs: { isOver.withLock { $0 } ? nil : "every slot is held" }) {
            proofs.withLock { count in
                count += 1
                if count == 5 { isOver.withLock { $0 = true } }
            }
            return false
        }.run()
        #expect(await bed.notifications.heard.first { $0 == "WATCHDOG=trigger" } != nil)
        #expect(bed.notifications.heard.all == ["STATUS=every slot is held", "WATCHDOG=trigger"])
    }

    /// What the last ring finds may have come to its end meanwhile.
    @Test(.timeLimit(.minutes(1)))
    func whatEndsWhileItIsLookedAtIsNotTold() async throws {
        let bed = try TestBed()
        let hang = guardOfHangs(bed) { _ in Issue.record("nothing hangs") }
        let asked = Lines()
        hang.expectEnd(within: .zero) { [weak hang] in
            hang?.ended()
            asked.append("asked")
            return "it hangs"
        }
        #expect(await asked.first { $0 == "asked" } != nil)
        _ = await bed.notifications.silence()
        #expect(bed.notifications.heard.all.isEmpty)
        #expect(hang.problem == nil)
    }

    /// What was expected meanwhile is not taken for what hung before.
    @Test(.timeLimit(.minutes(1)))
    func whatIsExpectedNextIsToldByItself() async throws {
        let bed = try TestBed()
        let told = Lines()
        let hang = guardOfHangs(bed) { _ in told.append("told") }
        hang.expectEnd(within: .zero) { [weak hang] in
            hang?.expectEnd(within: .zero) { "the second hangs" }
            return "the first hangs"
        }
        #expect(await told.first { $0 == "told" } != nil)
        #expect(await bed.notifications.heard.first { $0 == "WATCHDOG=trigger" } != nil)
        #expect(bed.notifications.heard.all == ["STATUS=the second hangs", "WATCHDOG=trigger"])
        #expect(hang.problem == "the second hangs")
    }

    private func guardOfHangs(
        _ bed: TestBed, onHang: @escaping @Sendable (DaemonFailure) -> Void
    ) -> HangGuard {
        HangGuard(
            notifier: Notifier(bed.notifications.address),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, onHang: onHang)
    }

    /// The journal may hang with everything else.
    @Test(.timeLimit(.minutes(1)))
    func aLogThatBlocksKeepsNothingFromTheManager() async throws {
        let bed = try TestBed()
        let isRead = DispatchSemaphore(value: 0)
        defer { isRead.signal() }
        let logger = Logger(label: "test") { _ in
            ServiceLogHandler(threshold: LogThreshold(.info), style: .dated) { _ in isRead.wait() }
        }
        let hang = HangGuard(notifier: Notifier(bed.notifications.address), logger: logger, onHang: { _ in })
        hang.expectEnd(within: .zero) { "it hangs" }
        #expect(await bed.notifications.heard.first { $0 == "WATCHDOG=trigger" } != nil)
        #expect(hang.problem == "it hangs")
    }

    private func service(
        _ bed: TestBed, interval: Duration = .seconds(2), whatHangs: @escaping @Sendable () -> String?,
        proveProgress: @escaping @Sendable () async -> Bool
    ) -> WatchdogService {
        let notifier = Notifier(bed.notifications.address)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        // Long against the proofs, which come at once, also on a machine that stands still for a while.
        return WatchdogService(
            interval: interval, notifier: notifier,
            hang: HangGuard(notifier: notifier, logger: logger, onHang: { _ in }), waitUntilReady: { true },
            proveProgress: proveProgress, whatHangs: whatHangs)
    }
}
