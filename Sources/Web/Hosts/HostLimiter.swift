import OperationTypes
import Synchronization
import WebSyntax

/// Limits how many requests each host gets at once and how fast they follow each other, and stops requests to a host
/// that does not answer.
final class HostLimiter: Sendable {
    private struct Host {
        var active = 0
        var waiting: [Waiter<Void>] = []
        var pace = Pace()
        var breaker = CircuitBreaker()

        func isForgettable(now: Duration, limits: HostLimits) -> Bool {
            active == 0 && waiting.isEmpty && breaker.isForgettable(now: now, limits: limits) && pace.isIdle(now: now)
        }
    }

    private struct State {
        var hosts: [String: Host] = [:]
        var sweepAt = HostLimiter.many
    }

    private static let many = 4096

    private let state = Mutex(State())
    private let limits: HostLimits
    private let origin = ContinuousClock.now

    init(limits: HostLimits) { self.limits = limits }

    private var now: Duration { ContinuousClock.now - origin }

    /// Waits for a permit for the host, runs `body`, and releases the permit.
    ///
    /// - Parameters:
    ///   - isGentle: Whether the limits on concurrency and pace apply. The circuit breaker always applies.
    ///   - stopwatch: Is paused until the permit is granted.
    /// - Throws: `connect_failed` at once if the circuit breaker is open; `cancelled`; or the error of `body`.
    func withPermit<T>(
        for url: WebURL, isGentle: Bool, stopwatch: Stopwatch? = nil, _ body: () async throws(KindFailure) -> T
    ) async throws(KindFailure) -> T {
        var name = url.host.lookupName
        name += ":"
        name += String(url.port)
        let key = name
        if let wait = state.withLock({ $0.hosts[key]?.breaker.admit(now: now, limits: limits) ?? nil }) {
            throw KindFailure(
                .connectFailed, at: url,
                "the host did not respond the last \(limits.failuresBeforeRest) times, so requests to it are paused; "
                    + "try again later.", isRetryable: true, retryAfter: wait)
        }
        if isGentle {
            stopwatch?.pause(for: url)
            // If the task is cancelled here, the stopwatch stays paused, so that the failure names the wait as its
            // cause.
            guard await acquire(key) else {
                end(key, .unknown)
                throw .cancelled
            }
        }
        defer { if isGentle { release(key) } }
        do throws(KindFailure) {
            if isGentle {
                try await keepPace(key)
                stopwatch?.resume()
            }
            let value = try await body()
            end(key, .reached)
            return value
        } catch {
            switch error.reason {
            case .connectFailed: end(key, .failedToConnect)
            case .cancelled, .addressRefused, .portRefused, .nameNotFound, .lookupFailed, .proxyFailed, .timeout:
                end(key, .unknown)
            default: end(key, .reached)
            }
            throw error
        }
    }

    /// Waits until fewer than ``HostLimits/concurrent`` requests to the host are running.
    ///
    /// - Returns: False if the task was cancelled during the wait. In that case the request does not count as running.
    private func acquire(_ key: String) async -> Bool {
        if Task.isCancelled { return false }
        let waiter = Waiter<Void>()
        let isGranted = state.withLock { state in
            let hasPermit = state.hosts[key, default: Host()].active < limits.concurrent
            if hasPermit {
                state.hosts[key, default: Host()].active += 1
            } else {
                state.hosts[key]?.waiting.append(waiter)
            }
            return hasPermit
        }
        if isGranted { return true }
        return await waiter.outcome {
            let isWaiting = state.withLock { state in
                let index = state.hosts[key]?.waiting.firstIndex { $0 === waiter }
                if let index { state.hosts[key]?.waiting.remove(at: index) }
                return index != nil
            }
            // The permit was granted just before the cancellation.
            if !isWaiting { waiter.end(with: ()) }
        } != nil
    }

    private func release(_ key: String) {
        let next = state.withLock { state -> Waiter<Void>? in
            guard var host = state.hosts[key] else { return nil }
            defer { keep(host, at: key, in: &state) }
            // The request that has waited longest takes over the permit, so the count stays the same.
            if !host.waiting.isEmpty { return host.waiting.removeFirst() }
            host.active -= 1
            return nil
        }
        next?.end(with: ())
    }

    private func keepPace(_ key: String) async throws(KindFailure) {
        let wait = state.withLock { $0.hosts[key, default: Host()].pace.reserve(now: now, limits: limits) }
        if wait <= .zero { return }
        do { try await Task.sleep(for: wait) } catch { throw .cancelled }
    }

    private func end(_ key: String, _ ending: CircuitBreaker.Ending) {
        state.withLock { state in
            var host = state.hosts[key] ?? Host()
            host.breaker.ended(ending, now: now, limits: limits)
            keep(host, at: key, in: &state)
        }
    }

    /// Stores the state of a host, or forgets the host if its state no longer matters.
    private func keep(_ host: Host, at key: String, in state: inout State) {
        let now = now
        state.hosts[key] = host.isForgettable(now: now, limits: limits) ? nil : host
        // Some states become worthless as time passes. They are removed once many states have accumulated.
        if state.hosts.count > state.sweepAt {
            state.hosts = state.hosts.filter { !$0.value.isForgettable(now: now, limits: limits) }
            state.sweepAt = max(Self.many, state.hosts.count * 2)
        }
    }
}
