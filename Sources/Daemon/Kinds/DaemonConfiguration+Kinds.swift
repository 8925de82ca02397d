import ControlProtocol
import Kinds
import Logging
import Web

extension DaemonConfiguration {
    /// ``kinds`` with everything that depends on other settings.
    var completeKinds: KindsConfiguration {
        var kinds = kinds
        let lookUp = credentialFolder.map { credentials(inDirectory: $0) }
        if let lookUp { kinds.upload.credentials = lookUp }
        if let name = proxyCredential {
            kinds.outgoing.proxySecret = { () throws(KindFailure) in try proxySecret(named: name, lookUp) }
        }
        kinds.outgoing.version = Version.current
        kinds.upload.spool = spoolDirectory
        kinds.upload.checkpoints = checkpointDirectory
        kinds.unfurl.tracking.add(trackingParameters)
        if let list = trackingList { kinds.unfurl.tracking.add(list) }
        kinds.documents = .thisProgram
        return kinds
    }

    /// Logs how many rules of the external tracking list are used, and how many are left out because they
    /// contain more than a name and a host.
    func logTrackingList(_ logger: Logger) {
        guard let list = trackingList else { return }
        logger.info(
            "unfurl.tracking_list: \(list.count) \(list.count == 1 ? "rule" : "rules") loaded, \(list.skipped) skipped that contain more than a name and a host"
        )
    }
}

private func proxySecret(named name: String, _ lookUp: CredentialLookup?) throws(KindFailure) -> String {
    if let secret = try lookUp?(name), !secret.isEmpty { return secret }
    throw KindFailure.missingProxyCredential(name)
}
