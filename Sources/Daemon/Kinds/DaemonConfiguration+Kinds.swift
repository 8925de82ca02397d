import Control
import Kinds

extension DaemonConfiguration {
    /// What the kinds are given.
    var kinds: KindsConfiguration {
        var kinds = KindsConfiguration()
        kinds.outgoing.policy = AddressPolicy(
            ports: Set(network.ports), allow: network.allow.compactMap { AllowRule($0) })
        kinds.outgoing.limits.connect = network.connectTimeout
        kinds.outgoing.limits.idle = network.idleTimeout
        kinds.outgoing.version = Version.current
        kinds.outgoing.userAgentSuffix = network.userAgentSuffix
        kinds.upload.roots = upload.roots
        kinds.upload.maxBytes = upload.maxBytes
        kinds.upload.spool = spoolDirectory
        // Beside the database, since they belong to its jobs.
        kinds.upload.checkpoints = (database.lastIndex(of: "/").map { String(database[...$0]) } ?? "") + "uploads"
        if let folder = upload.credentials { kinds.upload.credentials = credentials(inDirectory: folder) }
        kinds.unfurl.maxRedirects = unfurl.maxRedirects
        kinds.unfurl.timeout = unfurl.timeout
        kinds.unfurl.trackingParameters = unfurl.trackingParameters
        kinds.enrich.maxRedirects = enrich.maxRedirects
        kinds.enrich.timeout = enrich.timeout
        kinds.enrich.maxBytes = Int(enrich.maxBytes)
        return kinds
    }
}
