import CCAres
import Glibc
import NIOCore
import WebSyntax

/// One lookup of a name, with its own sockets: c-ares sends the queries for both families, repeats them, and asks again
/// over TCP when an answer was truncated.
///
/// Only the thread of ``NameServers`` uses a lookup. Each lookup opens new sockets, so that its source ports are
/// unpredictable and it asks the name servers that `resolv.conf` lists when it begins.
final class Lookup {
    /// The addresses known so far, or the complete result.
    struct Progress: Sendable {
        var addresses: [IPAddress] = []
        /// How many seconds the answer may be cached; nil if it must not be cached.
        var ttl: UInt32?
        /// The reason why there are no addresses; nil if there are.
        var problem: LookupError?
        var isComplete = true
    }

    /// How long to wait for the other family's answer after the first one has arrived (RFC 8305, 3).
    static let resolutionDelay = TimeAmount.milliseconds(50)
    /// The time limit for all servers, repetitions and search domains together.
    static let limit = TimeAmount.seconds(10)

    /// The poll events that c-ares waits for, by socket.
    private(set) var sockets: [Int32: Int16] = [:]
    private let report: @Sendable (Progress) -> Void
    private let deadline: NIODeadline
    private var channel: ares_channel?
    private var candidates: ArraySlice<String>
    /// Answers for the current candidate.
    private var answers: [AddressFamily: DNSAnswer] = [:]
    private var hasFailed = false
    private var negativeTTL: UInt32? = .max
    /// When a partial answer will be reported. Nil while there is none, and after the report.
    private var partialReportAt: NIODeadline?
    private var hasReportedPart = false
    private var isOver = false

    init(
        _ name: String, files: ResolverFiles, paths: ResolverFiles.Paths, now: NIODeadline,
        report: @escaping @Sendable (Progress) -> Void
    ) {
        self.report = report
        deadline = now + Self.limit
        candidates = files.candidates(for: name)[...]
        guard open(files, paths) else {
            hasFailed = true
            candidates = []
            return
        }
        ask()
    }

    deinit { close() }

    /// Handles socket events and everything that is due.
    ///
    /// - Returns: Whether the lookup is over; its end has then been reported.
    func proceed(_ events: [(socket: Int32, isReadable: Bool, isWritable: Bool)], now: NIODeadline) -> Bool {
        if let channel {
            // A socket may have been closed, and its number used again, since its events were collected.
            for event in events where sockets[event.socket] != nil {
                ares_process_fd(
                    channel, event.isReadable ? event.socket : ARES_SOCKET_BAD,
                    event.isWritable ? event.socket : ARES_SOCKET_BAD)
            }
            ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD)
        }
        advance(now)
        return isOver
    }

    /// The latest time at which ``proceed(_:now:)`` must be called again.
    func wakeAt(_ now: NIODeadline) -> NIODeadline {
        var next = min(deadline, partialReportAt ?? deadline)
        var wait = timeval()
        if let channel, ares_timeout(channel, nil, &wait) != nil {
            next = min(next, now + .microseconds(Int64(wait.tv_sec) * 1_000_000 + Int64(wait.tv_usec)))
        }
        return next
    }

    /// Ends the lookup without an answer.
    func abandon() { finish() }

    private func advance(_ now: NIODeadline) {
        while !isOver, answers.count == AddressFamily.allCases.count || candidates.isEmpty {
            let found = answers.values.contains { !$0.addresses.isEmpty }
            if found || candidates.count <= 1 { return finish() }
            candidates.removeFirst()
            answers = [:]
            ask()
        }
        if isOver { return }
        if now >= deadline { return finish() }
        if let partialReportAt {
            guard now >= partialReportAt else { return }
            self.partialReportAt = nil
            report(Progress(addresses: addresses, isComplete: false))
        } else if !hasReportedPart, answers.values.contains(where: { !$0.addresses.isEmpty }) {
            hasReportedPart = true
            partialReportAt = now + Self.resolutionDelay
        }
    }

    /// The addresses found so far: IPv6 first, as RFC 6724 prefers it, and each family in the server's order.
    private var addresses: [IPAddress] { (answers[.v6]?.addresses ?? []) + (answers[.v4]?.addresses ?? []) }

    private func finish() {
        if isOver { return }
        isOver = true
        close()
        let addresses = addresses
        guard addresses.isEmpty else {
            let ttls = answers.values.map { answer -> UInt32 in
                switch answer {
                case .addresses(_, let ttl): ttl
                case .none(let ttl), .noSuchName(let ttl): ttl ?? 60
                case .failed: 0
                }
            }
            let isWhole = answers.count == AddressFamily.allCases.count
            return report(Progress(addresses: addresses, ttl: isWhole ? ttls.min() : nil))
        }
        let isNo = !hasFailed && answers.count == AddressFamily.allCases.count
        report(Progress(ttl: isNo ? negativeTTL : nil, problem: isNo ? .noSuchName : .temporary))
    }

    private func close() {
        guard let channel else { return }
        self.channel = nil
        ares_destroy(channel)
        sockets = [:]
    }

    private func open(_ files: ResolverFiles, _ paths: ResolverFiles.Paths) -> Bool {
        var options = ares_options()
        options.flags = ARES_FLAG_EDNS | ARES_FLAG_STAYOPEN | (files.usesTCP ? ARES_FLAG_USEVC : 0)
        options.timeout = Int32(files.timeout.components.seconds) * 1000
        options.tries = Int32(files.attempts)
        options.udp_port = paths.port
        options.tcp_port = paths.port
        options.ednspsz = Int32(DNSMessage.udpBytes)
        options.sock_state_cb_data = Unmanaged.passUnretained(self).toOpaque()
        options.sock_state_cb = { data, socket, isReadable, isWritable in
            guard let data else { return }
            // The lookup still exists, since it destroys the channel before it is deallocated.
            let lookup = Unmanaged<Lookup>.fromOpaque(data).takeUnretainedValue()
            let events = (isReadable != 0 ? POLLIN : 0) | (isWritable != 0 ? POLLOUT : 0)
            lookup.sockets[socket] = events == 0 ? nil : Int16(events)
        }
        let mask =
            ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB
            | ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT | ARES_OPT_RESOLVCONF
            | (files.rotates ? ARES_OPT_ROTATE : ARES_OPT_NOROTATE)
        return paths.resolver.withCString { path in
            options.resolvconf_path = UnsafeMutablePointer(mutating: path)
            return ares_init_options(&channel, &options, mask) == halyard_ares_success
        }
    }

    /// Sends the queries for the current candidate.
    private func ask() {
        guard let channel, let name = candidates.first else { return }
        for family in AddressFamily.allCases {
            guard let query = DNSMessage.query(name, family, id: .random(in: .min ... .max)) else {
                hear(.noSuchName(ttl: nil), family)
                continue
            }
            let question = Question(lookup: self, name: name, family: family)
            ares_send(
                channel, query, Int32(query.count),
                { question, status, _, bytes, count in
                    guard let question else { return }
                    // c-ares calls this exactly once for each query, at the latest when the channel is destroyed.
                    let asked = Unmanaged<Question>.fromOpaque(question).takeRetainedValue()
                    let isAnswered = status == halyard_ares_success && bytes != nil
                    let message = isAnswered ? Array(UnsafeBufferPointer(start: bytes, count: Int(count))) : []
                    asked.lookup?.hear(
                        isAnswered ? DNSMessage.answer(message, for: asked.name, asked.family) : .failed, asked.family)
                }, Unmanaged.passRetained(question).toOpaque())
        }
    }

    private func hear(_ answer: DNSAnswer, _ family: AddressFamily) {
        // Destroying the channel ends the pending queries with a failure, which must not count.
        guard channel != nil else { return }
        answers[family] = answer
        switch answer {
        case .addresses: break
        case .none(let ttl), .noSuchName(let ttl): negativeTTL = ttl.flatMap { new in negativeTTL.map { min($0, new) } }
        case .failed: hasFailed = true
        }
    }

    private final class Question {
        weak var lookup: Lookup?
        let name: String
        let family: AddressFamily

        init(lookup: Lookup, name: String, family: AddressFamily) {
            self.lookup = lookup
            self.name = name
            self.family = family
        }
    }
}

/// The reason why a lookup found no addresses.
enum LookupError: Error, Hashable, Sendable {
    case noSuchName
    /// The name servers did not answer, or failed; a later lookup may succeed.
    case temporary
}
