import Jobs
import Kinds
import Synchronization
import Web

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
            // Nobody awaits this task: no job uses the replaced configuration's connections any more.
            Task { [client] in await client.shutdown() }
        }
    }

    private let current: Mutex<Generation>

    init(_ configuration: KindsConfiguration) { current = Mutex(Generation(configuration)) }

    /// Replaces the configuration. Runs that begin after this call use the new one; the others keep the old
    /// one.
    func replace(with configuration: KindsConfiguration) {
        let next = Generation(configuration)
        // The closure returns the old generation, so that it is not deinitialized inside the lock.
        _ = current.withLock { current in
            defer { current = next }
            return current
        }
    }

    /// The kinds to register. Register them once; they follow ``replace(with:)``.
    var kinds: [any Kind] { current.withLock(\.kinds).enumerated().map { live($1, at: $0) } }

    private func live<Base: Kind>(_: Base, at index: Int) -> any Kind {
        LiveKind<Base> { [self] in
            let generation = current.withLock { $0 }
            guard let kind = generation.kinds[index] as? Base else {
                preconditionFailure("every configuration has the same kinds in the same order")
            }
            return (kind, generation)
        }
    }
}
