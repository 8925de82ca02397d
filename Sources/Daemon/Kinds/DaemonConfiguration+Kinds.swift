import ControlProtocol
import Kinds
import Logging
import Web

extension DaemonConfiguration {
    /// The settings of the built-in kinds.
    var kinds: KindsConfiguration {
        var kinds = KindsConfiguration()
        kinds.outgoing.policy = AddressPolicy(
            ports: Set(network.ports), allow: network.allow.compactMap { AllowRule($0) })
        kinds.outgoing.limits.connect = network.connectTimeout
        kinds.outgoing.limits.idle = network.idleTimeout
        kinds.outgoing.limits.retryAfter = network.retryAfterLimit
        kinds.outgoing.host.concurrent = network.hostRequests
        kinds.outgoing.host.interval = network.hostInterval
        kinds.outgoing.host.failuresBeforeRest = network.hostFailures
        kinds.outgoing.host.rest = network.hostRest
        kinds.outgoing.proxy = network.proxy
        if let name = network.proxyCredential {
            let lookUp = upload.credentials.map { credentials(inDirectory: $0) }
            kinds.outgoing.proxySecret = { () throws(KindFailure) in try proxySecret(named: name, lookUp) }
        }
        kinds.outgoing.certificateFile = network.authorities
        kinds.outgoing.version = Version.current
        kinds.outgoing.userAgentSuffix = network.userAgentSuffix
        kinds.upload.roots = upload.roots
        kinds.upload.maxBytes = upload.maxBytes
        kinds.upload.spool = spoolDirectory
        kinds.upload.checkpoints = checkpointDirectory
        kinds.upload.chunkBytes = upload.chunkBytes
        kinds.upload.partBytes = upload.partBytes
        kinds.upload.bufferBytes = Int(upload.bufferBytes)
        kinds.upload.maxBytesPerSecond = upload.maxBytesPerSecond
        if let folder = upload.credentials { kinds.upload.credentials = credentials(inDirectory: folder) }
        kinds.upload.credentialOrigins = upload.credentialOrigins
        kinds.unfurl.maxRedirects = unfurl.maxRedirects
        kinds.unfurl.timeout = unfurl.timeout
        kinds.unfurl.hopTimeout = unfurl.hopTimeout
        kinds.unfurl.keeps = unfurl.keeps
        kinds.unfurl.tracking.add(unfurl.trackingParameters)
        if let list = unfurl.trackingList { kinds.unfurl.tracking.add(list) }
        kinds.unfurl.wrappers = unfurl.wrappers.compactMap { WrapperRule($0) }
        kinds.enrich.maxRedirects = enrich.maxRedirects
        kinds.enrich.timeout = enrich.timeout
        kinds.enrich.maxBytes = Int(enrich.maxBytes)
        kinds.documents = .thisProgram
        return kinds
    }

    /// Logs how many rules of the external tracking list are used, and how many are left out because they
    /// contain more than a name and a host.
    func logTrackingList(_ logger: Logger) {
        guard let list = unfurl.trackingList else { return }
        logger.info(
            "unfurl.tracking_list: \(list.count) \(list.count == 1 ? "rule" : "rules") loaded, \(list.skipped) skipped that contain more than a name and a host"
        )
    }
}

private func proxySecret(named name: String, _ lookUp: CredentialLookup?) throws(KindFailure) -> String {
    if let secret = try lookUp?(name), !secret.isEmpty { return secret }
    throw KindFailure.missingProxyCredential(name)
}
