import Synchronization

/// Lets requests to one host through at a pace that does it no harm, and none while the host does not answer.
final class HostGate: Sendable {
    private struct Waiting {
        let id: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Host {
        var active = 0
        var waiting: [Waiting] = []
        var pace = Pace()
        var breaker = CircuitBreaker()

        func isForgettable(now: Duration, limits: HostLimits) -> Bool {
            active == 0 && waiting.isEmpty && breaker.isForgettable(now: now, limits: limits) && pace.isIdle(now: now)
        }
    }

    private struct State {
        var hosts: [String: Host] = [:]
        var lastID: UInt64 = 0
        var sweepAt = HostGate.many
    }

    private static let many = 4096

    private let state = Mutex(State())
    private let limits: HostLimits
    private let origin = ContinuousClock.now

    init(limits: HostLimits) { self.limits = limits }

    private var now: Duration { ContinuousClock.now - origin }

    /// Runs `body` when it is its turn.
    ///
    /// - Parameter isGentle: Whether concurrency and pace count; the breaker always does.
    /// - Parameter stopwatch: Stands still until it is.
    func pass<T>(
        _ url: WebURL, isGentle: Bool, stopwatch: Stopwatch? = nil, _ body: () async throws(KindFailure) -> T
    ) async throws(KindFailure) -> T {
        var name = url.host.lookupName
        name += ":"
        name += String(url.port)
        let key = name
        if let wait = state.withLock({ $0.hosts[key]?.breaker.admit(now: now, limits: limits) ?? nil }) {
            throw KindFailure(
                .connectFailed,
                "\(url.redacted): the host did not answer the last \(limits.failuresBeforeRest) times and is left alone for a "
                    + "while; try again later.", isRetryable: true, url: url, retryAfter: wait)
        }
        if isGentle {
            stopwatch?.wait(for: url)
            // Who is cancelled while waiting is left so: that is why it took so long.
            guard await enter(key) else {
                end(key, .unknown)
                throw .cancelled
            }
        }
        defer { if isGentle { leave(key) } }
        do throws(KindFailure) {
            if isGentle {
                try await keepPace(key)
                stopwatch?.goOn()
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

    /// Waits for a place. - Returns: False when the task was cancelled meanwhile; then there is none.
    private func enter(_ key: String) async -> Bool {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    // Looked at under the lock: a cancellation after this finds the entry below.
                    if Task.isCancelled { return false }
                    var host = state.hosts[key] ?? Host()
                    defer { state.hosts[key] = host }
                    if host.active < limits.concurrent {
                        host.active += 1
                        return true
                    }
                    host.waiting.append(Waiting(id: id, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                if let index = state.hosts[key]?.waiting.firstIndex(where: { $0.id == id }) {
                    return state.hosts[key]?.waiting.remove(at: index).continuation
                }
                return nil
            }
            continuation?.resume(returning: false)
        }
    }

    private func leave(_ key: String) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard var host = state.hosts[key] else { return nil }
            defer { keep(host, at: key, in: &state) }
            // The place goes to the one who waited longest, so the count stays.
            if !host.waiting.isEmpty { return host.waiting.removeFirst().continuation }
            host.active -= 1
            return nil
        }
        next?.resume(returning: true)
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

    /// A host about which there is nothing to remember is forgotten.
    private func keep(_ host: Host, at key: String, in state: inout State) {
        let now = now
        state.hosts[key] = host.isForgettable(now: now, limits: limits) ? nil : host
        // What was kept for a moment is looked at again when there is much of it.
        if state.hosts.count > state.sweepAt {
            state.hosts = state.hosts.filter { !$0.value.isForgettable(now: now, limits: limits) }
            state.sweepAt = max(Self.many, state.hosts.count * 2)
        }
    }
}
