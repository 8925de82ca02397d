import Logging
import ServiceLifecycle
import Synchronization
import Systemd
import Testing

@testable import Daemon

@Suite(.serialized) struct WatchdogTests {
    /// The whole daemon in this process, with its claim loop frozen for a while: the process lives, and yet the manager
    /// hears nothing.
    @Test(.timeLimit(.minutes(1)))
    func aFrozenClaimLoopStopsThePings() async throws {
        let bed = try TestBed()
        let barrier = Barrier()
        var configuration = DaemonConfiguration()
        configuration.database = bed.database
        configuration.socket = bed.socket
        configuration.definitions = nil
        var surroundings = DaemonSurroundings()
        surroundings.notifier = Notifier(bed.notifications.address)
        surroundings.watchdogInterval = .milliseconds(40)
        surroundings.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        surroundings.beforeEachTurn = { await barrier.pass() }
        let (handles, ready) = AsyncStream.makeStream(of: DaemonHandle.self)
        surroundings.onReady = { ready.yield($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [configuration, surroundings] in try await Daemon.run(configuration, in: surroundings) }
            var iterator = handles.makeAsyncIterator()
            let handle = try #require(await iterator.next())
            let first = try #require(await bed.notifications.heard.first { $0 == "WATCHDOG=1" })
            #expect(await bed.notifications.heard.first(from: first.index + 1) { $0 == "WATCHDOG=1" } != nil)
            barrier.close()
            // The manager hears nothing for many intervals, and would restart the daemon.
            let silence = try #require(await bed.notifications.silence())
            #expect(bed.notifications.heard.all.count == silence)
            barrier.open()
            #expect(await bed.notifications.heard.first(from: silence) { $0 == "WATCHDOG=1" } != nil)
            handle.stop()
            try await group.waitForAll()
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func noPingWithoutAProof() async throws {
        let bed = try TestBed()
        let proofs = Mutex(3)
        let service = WatchdogService(interval: .milliseconds(2), notifier: Notifier(bed.notifications.address)) {
            proofs.withLock { left in
                left -= 1
                return left >= 0
            }
        }
        try await service.run()
        #expect(bed.notifications.heard.all.filter { $0 == "WATCHDOG=1" }.count <= 3)
        await bed.notifications.heard.first { $0 == "WATCHDOG=1" }
        #expect(proofs.withLock { $0 } == -1)
    }
}
