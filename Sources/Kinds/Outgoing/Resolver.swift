import Glibc
import NIOPosix
import Synchronization

/// Looks names up, on threads of its own.
final class Resolver: Sendable {
    /// Blocks.
    typealias LookUp = @Sendable (_ name: String) -> Result<[IPAddress], LookupProblem>

    private let threads: NIOThreadPool
    private let lookUp: LookUp

    init(threads: NIOThreadPool, lookUp: @escaping LookUp) {
        self.threads = threads
        self.lookUp = lookUp
    }

    /// - Returns: Every address of the name, in the system's order of preference, each once.
    func addresses(of name: String, for url: WebURL) async throws(KindFailure) -> [IPAddress] {
        let answer: Result<[IPAddress], LookupProblem>
        do {
            answer = try await threads.runAbandoningOnCancel { [lookUp] in lookUp(name) }
        } catch {
            throw .cancelled
        }
        switch answer {
        case .success(let addresses): return addresses
        case .failure(.noSuchName):
            throw KindFailure(.nameNotFound, "\(url.redacted): no host has this name; check its spelling.", url: url)
        case .failure(.temporary):
            throw KindFailure(
                .lookupFailed,
                "\(url.redacted): the name could not be looked up; check the name servers, or try later.",
                isRetryable: true, url: url)
        }
    }

    enum LookupProblem: Error { case noSuchName, temporary }

    /// With the system's resolver.
    @Sendable static func ask(_ name: String) -> Result<[IPAddress], LookupProblem> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else {
            return .failure(status == EAI_NONAME || status == noAddress ? .noSuchName : .temporary)
        }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next {
            if let address = IPAddress(entry.pointee.ai_addr), !addresses.contains(address) {
                addresses.append(address)
            }
            next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.noSuchName) : .success(addresses)
    }

    /// `EAI_NODATA`, which the C library declares for GNU sources only.
    private static let noAddress: Int32 = -5
}

extension IPAddress {
    fileprivate init?(_ address: UnsafeMutablePointer<sockaddr>?) {
        guard let address else { return nil }
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                .v4(UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            self = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) {
                    .v6(
                        UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                        UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
                }
            }
        default:
            return nil
        }
    }
}

extension NIOThreadPool {
    /// Runs blocking work on one of the pool's threads. When the task is cancelled this throws at once, and what the work
    /// gives is dropped when it comes.
    func runAbandoningOnCancel<T: Sendable>(_ work: @escaping @Sendable () -> T) async throws(CancellationError) -> T {
        let slot = Slot<T>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                slot.wait(with: continuation)
                submit { state in
                    if slot.isFilled { return }
                    slot.fill(state == .active ? .success(work()) : .failure(CancellationError()))
                }
            }
        } onCancel: {
            slot.fill(.failure(CancellationError()))
        }
        return try result.get()
    }
}

/// A place for one answer: whoever fills it first wins, and the waiting task goes on exactly once.
private final class Slot<T: Sendable>: Sendable {
    typealias Answer = Result<T, CancellationError>
    private enum State {
        case empty
        case waiting(CheckedContinuation<Answer, Never>)
        case filled(Answer)
        case taken
    }
    private let state = Mutex(State.empty)

    /// Nobody waits for the work any more.
    var isFilled: Bool {
        state.withLock { state in
            switch state {
            case .empty, .waiting: false
            case .filled, .taken: true
            }
        }
    }

    func wait(with continuation: CheckedContinuation<Answer, Never>) {
        let answer = state.withLock { state -> Answer? in
            guard case .filled(let answer) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .taken
            return answer
        }
        if let answer { continuation.resume(returning: answer) }
    }

    func fill(_ answer: Answer) {
        let continuation = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            switch state {
            case .empty:
                state = .filled(answer)
                return nil
            case .waiting(let continuation):
                state = .taken
                return continuation
            case .filled, .taken:
                return nil
            }
        }
        continuation?.resume(returning: answer)
    }
}
