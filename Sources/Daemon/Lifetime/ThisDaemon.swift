import ControlProtocol
import Glibc
import Jobs
import Stores
import Systemd

extension Holder {
    /// This process, as a holder of jobs. No other process has the same identity: it is locked.
    static func thisDaemon(_ opened: OpenedStore, _ configuration: DaemonConfiguration) -> Holder {
        var buffer = [CChar](repeating: 0, count: 256)
        // The last byte stays zero, so that a longer name is cut.
        let isKnown = gethostname(&buffer, buffer.count - 1) == 0
        let name = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let host = isKnown && !name.isEmpty ? String(decoding: name, as: UTF8.self) : "localhost"
        let (queues, kinds) = (configuration.daemonQueues, configuration.daemonKinds)
        return Holder(
            identity: opened.identity?.text ?? "\(host):\(opened.home)", name: configuration.daemonName, host: host,
            version: Version.current, queues: queues.isEmpty ? nil : queues,
            kinds: kinds.isEmpty ? nil : kinds,
            // Containers may share all but the place of their homes.
            machine: RunningSystem.identifier(boot: configuration.bootID, host: host)
                + (opened.identity.map { " \($0.place)" } ?? ""))
    }
}
