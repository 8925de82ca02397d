import Jobs
import Kinds
import Synchronization

/// The built-in kinds, with a configuration that a reload can replace.
final class KindSet: Sendable {
    /// The kinds of one configuration and the client they share.
    private final class Generation: Sendable {
        let client: OutgoingClient
        let kinds: [any Kind]

        init(_ configuration: KindsConfiguration) {
            client = OutgoingClient(configuration.outgoing)
            kinds = builtInKinds(configuration, client: client)
        }

        deinit {
            // Nobody waits for the connections of a configuration that is gone; nothing uses them any more.
            Task { [client] in await client.shutdown() }
        }
    }

    private let current: Mutex<Generation>

    init(_ configuration: KindsConfiguration) { current = Mutex(Generation(configuration)) }

    /// Runs that begin after this use the new configuration.
    func replace(with configuration: KindsConfiguration) {
        let next = Generation(configuration)
        // Handed out, so that the old generation does not end inside the lock.
        _ = current.withLock { current in
            defer { current = next }
            return current
        }
    }

    /// The kinds to register. They need to be registered only once, since they follow ``replace(with:)``.
    var kinds: [any Kind] { current.withLock(\.kinds).map { live($0) } }

    private func live<Base: Kind>(_ kind: Base) -> any Kind {
        LiveKind<Base> { [self] in
            let generation = current.withLock { $0 }
            // Every generation contains the same types. If one is missing, the kind of the first generation is used.
            return (generation.kinds.lazy.compactMap { $0 as? Base }.first ?? kind, generation)
        }
    }
}
