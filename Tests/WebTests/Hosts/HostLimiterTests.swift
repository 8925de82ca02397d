import NIOHTTP1
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import WebSyntax

@testable import Web

@Suite struct HostLimiterTests {
    private let url: WebURL

    init() throws { url = try WebURL(parsing: "http://h/") }

    private final class Counts: Sendable {
        let value = Mutex((now: 0, most: 0, all: 0))
    }

    @Test func paceAllowsABurstAndThenOneAtATime() {
        var limits = HostLimits()
        limits.concurrent = 3
        limits.interval = .milliseconds(100)
        var pace = Pace()
        let waits = (0..<5).map { _ in pace.reserve(now: .seconds(1), limits: limits) }
        #expect(waits == [.zero, .zero, .zero, .milliseconds(100), .milliseconds(200)])
        #expect(pace.reserve(now: .seconds(9), limits: limits) == .zero)
        #expect(!pace.isIdle(now: .seconds(9)))
        #expect(pace.isIdle(now: .seconds(10)))
    }

    @Test func breakerRestsAfterFailuresInARowAndTriesOnce() {
        var limits = HostLimits()
        limits.failuresBeforeRest = 2
        limits.rest = .seconds(30)
        var breaker = CircuitBreaker()
        breaker.ended(.failedToConnect, now: .zero, limits: limits)
        breaker.ended(.reached, now: .zero, limits: limits)
        breaker.ended(.failedToConnect, now: .zero, limits: limits)
        #expect(breaker.admit(now: .zero, limits: limits) == nil)
        breaker.ended(.failedToConnect, now: .zero, limits: limits)
        #expect(breaker.admit(now: .seconds(10), limits: limits) == .seconds(20))
        #expect(breaker.admit(now: .seconds(30), limits: limits) == nil)
        #expect(breaker.admit(now: .seconds(30), limits: limits) == .seconds(30))
        breaker.ended(.failedToConnect, now: .seconds(31), limits: limits)
        #expect(breaker.admit(now: .seconds(32), limits: limits) == .seconds(29))
        #expect(breaker.admit(now: .seconds(61), limits: limits) == nil)
        breaker.ended(.reached, now: .seconds(61), limits: limits)
        #expect(breaker.isForgettable(now: .seconds(61), limits: limits))
    }

    @Test func oneHostSeesOnlySoManyAtOnce() async throws {
        var limits = HostLimits()
        limits.concurrent = 2
        limits.interval = .zero
        let limiter = HostLimiter(limits: limits)
        let counts = Counts()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    try await limiter.withPermit(for: url, isGentle: true) { () async throws(KindFailure) in
                        counts.value.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
                        await Task.yield()
                        counts.value.withLock { $0.now -= 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        let (now, most, all) = counts.value.withLock { $0 }
        #expect(now == 0 && most == 2 && all == 40)
    }

    @Test func cancelledWaiterLeavesTheLine() async throws {
        var limits = HostLimits()
        limits.concurrent = 1
        limits.interval = .zero
        let limiter = HostLimiter(limits: limits)
        let (isIn, mayLeave) = (Signal(), Signal())
        let first = Task {
            try await limiter.withPermit(for: url, isGentle: true) { () async throws(KindFailure) in
                isIn.open()
                await mayLeave.uncancellableWait()
            }
        }
        await isIn.wait()
        let second = Task {
            await failure { () async throws(KindFailure) in
                try await limiter.withPermit(for: url, isGentle: true) { () async throws(KindFailure) in }
            }
        }
        second.cancel()
        #expect(await second.value?.code == "cancelled")
        mayLeave.open()
        try await first.value
        // The permit was released.
        try await limiter.withPermit(for: url, isGentle: true) { () async throws(KindFailure) in }
    }

    @Test func stopwatchIsPausedUntilThePermitIsGranted() async throws {
        var limits = HostLimits()
        limits.concurrent = 1
        limits.interval = .zero
        let limiter = HostLimiter(limits: limits)
        let (isIn, mayLeave) = (Signal(), Signal())
        let first = Task {
            try await limiter.withPermit(for: url, isGentle: true) { () async throws(KindFailure) in
                isIn.open()
                await mayLeave.uncancellableWait()
            }
        }
        await isIn.wait()
        let stopwatch = Stopwatch()
        let second = Task {
            try await limiter.withPermit(for: url, isGentle: true, stopwatch: stopwatch) {
                () async throws(KindFailure) in stopwatch.waitingFor
            }
        }
        while stopwatch.waitingFor == nil { await Task.yield() }
        #expect(stopwatch.waitingFor == url)
        let reading = stopwatch.reading
        let start = ContinuousClock.now
        while .now - start < .milliseconds(5) {}
        #expect(stopwatch.reading == reading)
        mayLeave.open()
        #expect(try await second.value == nil)
        try await first.value
        // The stopwatch runs after the permit is granted.
        while stopwatch.reading == reading {}
        let end = stopwatch.reading + .milliseconds(5)
        while stopwatch.left(until: end) > .zero {}
        #expect(stopwatch.reading >= reading + .milliseconds(5))
    }

    @Test func hostThatDoesNotAnswerIsLeftAlone() async throws {
        var configuration = loopbackConfiguration()
        configuration.host.failuresBeforeRest = 2
        try await withClient(configuration) { client in
            let url = try WebURL(parsing: "http://127.0.0.1:1/")
            var waits: [Duration?] = []
            for _ in 0..<3 {
                let failure = await failure { () async throws(KindFailure) in
                    try await client.exchange(OutgoingRequest(method: .GET, url: url)) { _ throws(KindFailure) in }
                }
                #expect(failure?.code == "connect_failed")
                waits.append(failure?.retryAfter)
            }
            #expect(waits[0] == nil && waits[1] == nil && waits[2] != nil)
        }
    }

    @Test func strictHostsFollowTheirHeader() throws {
        let hosts = StrictHosts()
        let plain = try WebURL(parsing: "http://sub.example.org:80/x")
        hosts.learn("max-age=100", of: "example.org", now: 0)
        #expect(hosts.upgrade(plain, now: 1) == nil)
        hosts.learn("max-age=\"100\"; includeSubDomains", of: "example.org", now: 0)
        #expect(hosts.upgrade(plain, now: 99)?.description == "https://sub.example.org/x")
        #expect(hosts.upgrade(plain, now: 100) == nil)
        hosts.learn("max-age=0", of: "example.org", now: 0)
        #expect(hosts.upgrade(plain, now: 1) == nil)
        hosts.learn("nonsense", of: "example.org", now: 0)
        #expect(hosts.upgrade(plain, now: 1) == nil)
    }

    @Test func manyNamesDoNotKeepOthersOut() throws {
        let hosts = StrictHosts()
        for number in 0..<5000 { hosts.learn("max-age=1000", of: "h\(number).example", now: 0) }
        #expect(try hosts.upgrade(WebURL(parsing: "http://h4999.example/"), now: 1) != nil)
    }

    @Test func failuresOfLongAgoAreForgotten() {
        var breaker = CircuitBreaker()
        let limits = HostLimits()
        breaker.ended(.failedToConnect, now: .seconds(10), limits: limits)
        #expect(!breaker.isForgettable(now: .seconds(10) + limits.rest, limits: limits))
        #expect(breaker.isForgettable(now: .seconds(11) + limits.rest * 2, limits: limits))
    }
}
