import NIOCore
import OperationTypes
import Synchronization
import WebSyntax

/// Looks up names without blocking, and caches the answers as long as their servers allow.
///
/// 1. Callers that ask for the same name share one lookup.
/// 2. At most ``maxLookups`` lookups are in progress; further lookups wait in the order of the requests.
/// 3. At most ``maxNames`` names are cached.
/// 4. A change of the system's files clears the cache.
final class Resolver: Sendable {
    /// The addresses of a name.
    struct Found: Sendable {
        var addresses: [IPAddress]
        /// Waits for the addresses of the other family, and returns all addresses. Set only if one family's addresses
        /// did not arrive in time.
        var rest: (@Sendable () async -> [IPAddress])?
    }

    typealias Answer = Result<Found, LookupError>
    typealias LookUp = @Sendable (_ name: String) async -> Answer

    /// This is more than a daemon's default number of slots, so that lookups at silent servers do not delay other
    /// lookups.
    static let maxLookups = 512
    static let maxNames = 4096
    /// The longest time that an answer is cached, in seconds.
    static let maxTTL: UInt32 = 3600
    /// The longest time that the absence of a name is cached, in seconds.
    static let maxNegativeTTL: UInt32 = 300

    private typealias Known = ExpiringCache<String, Lookup.Progress, NIODeadline>

    private struct Flight {
        var partial: Lookup.Progress?
        var waiting: [Waiter<Lookup.Progress>] = []
        /// Callers that already have the partial answer and wait for the rest.
        var staying: [Waiter<Lookup.Progress>] = []
    }

    private struct State {
        var files: ResolverFiles
        var stamp: ResolverFiles.Stamp
        var lookAgainAt: NIODeadline
        var known = Known(capacity: maxNames)
        var flights: [String: Flight] = [:]
        var queue: [String] = []
        var underWay = 0
    }

    private let state: Mutex<State>
    private let servers: NameServers
    private let paths: ResolverFiles.Paths
    private let maxLookups: Int
    private let now: @Sendable () -> NIODeadline

    init(
        _ paths: ResolverFiles.Paths = ResolverFiles.Paths(), maxLookups: Int = Resolver.maxLookups,
        now: @escaping @Sendable () -> NIODeadline = { .now() }
    ) {
        self.paths = paths
        self.maxLookups = maxLookups
        self.now = now
        servers = NameServers(paths)
        state = Mutex(
            State(files: ResolverFiles(paths), stamp: ResolverFiles.Stamp(paths), lookAgainAt: now() + .seconds(1)))
    }

    func shutdown() async { await servers.shutdown() }

    /// Looks up a name in the sources that the system's files configure.
    ///
    /// - Returns: The addresses of the name, IPv6 first, each once. The addresses of one family may still be missing;
    ///   see ``Found/rest``.
    func find(_ name: String) async -> Answer {
        let files = currentFiles()
        if name == "localhost" || name.hasSuffix(".localhost") {
            let written = files.addresses(of: name)
            return .success(Found(addresses: written.isEmpty ? [.v6(0, 1), .v4(0x7F00_0001)] : written))
        }
        var problem = LookupError.noSuchName
        for source in files.sources {
            switch source {
            case .files:
                let written = files.addresses(of: name)
                if !written.isEmpty { return .success(Found(addresses: written)) }
            case .servers:
                let progress = await ask(name, staying: false)
                guard let failed = progress.problem else {
                    let rest: (@Sendable () async -> [IPAddress])? =
                        progress.isComplete ? nil : { @Sendable in await self.ask(name, staying: true).addresses }
                    return .success(Found(addresses: progress.addresses, rest: rest))
                }
                problem = failed
            }
        }
        return .failure(problem)
    }

    /// The current contents of the system's files, which are checked for changes once a second.
    private func currentFiles() -> ResolverFiles {
        let now = now()
        return state.withLock { state in
            guard now >= state.lookAgainAt else { return state.files }
            state.lookAgainAt = now + .seconds(1)
            let stamp = ResolverFiles.Stamp(paths)
            if stamp != state.stamp {
                (state.stamp, state.files, state.known) = (stamp, ResolverFiles(paths), Known(capacity: Self.maxNames))
            }
            return state.files
        }
    }

    private func ask(_ name: String, staying: Bool) async -> Lookup.Progress {
        if Task.isCancelled { return Self.cancelled }
        let now = now()
        let waiter = Waiter<Lookup.Progress>()
        let answer = state.withLock { state -> Lookup.Progress? in
            if let known = state.known.value(of: name, at: now) { return known }
            var flight = state.flights[name] ?? Flight()
            if !staying, let partial = flight.partial { return partial }
            if state.flights[name] == nil { state.queue.append(name) }
            if staying { flight.staying.append(waiter) } else { flight.waiting.append(waiter) }
            state.flights[name] = flight
            return nil
        }
        if let answer { return answer }
        startLookups()
        let outcome = await waiter.outcome {
            state.withLock { state in
                state.flights[name]?.waiting.removeAll { $0 === waiter }
                state.flights[name]?.staying.removeAll { $0 === waiter }
            }
        }
        return outcome ?? Self.cancelled
    }

    private static let cancelled = Lookup.Progress(problem: .temporary)

    private func startLookups() {
        let (names, files) = state.withLock { state in
            var names: [String] = []
            while state.underWay + names.count < maxLookups, !state.queue.isEmpty {
                let name = state.queue.removeFirst()
                // All callers may have been cancelled before the lookup's turn.
                if state.flights[name]?.waiting.isEmpty == true, state.flights[name]?.staying.isEmpty == true {
                    state.flights[name] = nil
                } else {
                    names.append(name)
                }
            }
            state.underWay += names.count
            return (names, state.files)
        }
        for name in names { servers.ask(name, files) { self.hear($0, of: name) } }
    }

    private func hear(_ progress: Lookup.Progress, of name: String) {
        let now = now()
        let waiters = state.withLock { state -> [Waiter<Lookup.Progress>] in
            guard var flight = state.flights[name] else { return [] }
            guard progress.isComplete else {
                defer { state.flights[name] = flight }
                flight.partial = progress
                defer { flight.waiting = [] }
                return flight.waiting
            }
            state.flights[name] = nil
            state.underWay -= 1
            let most = progress.problem == nil ? Self.maxTTL : Self.maxNegativeTTL
            if let ttl = progress.ttl, ttl > 0 {
                state.known.keep(progress, of: name, until: now + .seconds(Int64(min(ttl, most))), now: now)
            }
            return flight.waiting + flight.staying
        }
        for waiter in waiters { waiter.end(with: progress) }
        if progress.isComplete { startLookups() }
    }
}

extension KindFailure {
    static func lookup(_ problem: LookupError, _ url: WebURL) -> KindFailure {
        switch problem {
        case .noSuchName:
            KindFailure(.nameNotFound, at: url, "no host has this name; check its spelling.")
        case .temporary:
            KindFailure(
                .lookupFailed, at: url,
                "the host name could not be resolved; check the name servers, or try again later.", isRetryable: true)
        }
    }
}
