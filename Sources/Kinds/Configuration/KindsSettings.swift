import Glibc
import Jobs
import Settings
import Web

/// The administrator's settings for the built-in kinds, as they are written in `halyard.yaml`.
package struct KindsSettings: Sendable {
    /// A setting that cannot be used.
    package struct Problem: Error, Hashable {
        package var key: String
        /// The index in a list; nil if the problem concerns the whole value.
        package var entry: Int?
        /// The finding and its remedy, which follow the key.
        package var reason: String
        /// The `errno` of a failed system call; nil for other problems.
        package var errorNumber: Int32?
    }

    /// Every problem of the settings.
    package struct Problems: Error { package var all: [Problem] }

    var kinds = KindsConfiguration()
    /// The folder of secrets, one file each; nil for none.
    var credentialFolder: String?
    /// The name of the proxy's credential; nil if the proxy needs none.
    var proxyCredential: String?
    /// Query parameters that `unfurl` removes in addition to the well-known tracking parameters.
    var trackingParameters: [String] = []
    /// More parameters that `unfurl` removes, from a file; nil for none.
    var trackingList: TrackingList?

    /// Parses an object with a text, or a list of texts, for each key. A key that is absent keeps its default.
    ///
    /// - Throws: ``Problems`` with all problems, not only the first.
    package init(_ json: JSONText) throws(Problems) {
        var problems: [Problem] = []
        for (key, value) in JSONObject(json)?.fields ?? [] {
            guard let setting = Self.all.first(where: { $0.key == key }) else {
                problems.append(
                    Problem(key: key, reason: "is unknown; install the same release of halyardd and halyard-worker"))
                continue
            }
            do throws(SettingProblem) {
                try setting.apply(try Self.text(value), &self)
            } catch {
                problems += error.reasons.map { Problem(key: key, entry: $0.entry, reason: $0.text) }
            }
        }
        if let problem = authoritiesProblem { problems.append(problem) }
        if !problems.isEmpty { throw Problems(all: problems) }
    }

    private static func text(_ value: JSONText) throws(SettingProblem) -> SettingText {
        if let text = value.decodedString { return .scalar(text) }
        if let elements = value.elements {
            let texts = elements.compactMap(\.decodedString)
            if texts.count == elements.count { return .list(texts) }
        }
        throw SettingProblem("is neither a text nor a list of texts; write it in quotes")
    }

    // MARK: Facts about this machine

    /// Checks the file of additional certificates. If it cannot be used, every HTTPS request fails.
    private var authoritiesProblem: Problem? {
        guard let path = kinds.outgoing.certificateFile else { return nil }
        func problem(_ finding: String, code: Int32? = nil) -> Problem {
            Problem(
                key: "network.authorities",
                reason: "names \(path), which \(finding); write the path of a file with certificates (PEM)",
                errorNumber: code)
        }
        var facts = stat()
        guard stat(path, &facts) == 0, access(path, R_OK) == 0 else {
            let code = errno
            return problem("cannot be read (\(String(cString: strerror(code))))", code: code)
        }
        // Only a regular file is accepted, since reading a pipe could block.
        guard facts.st_mode & S_IFMT == S_IFREG, areCertificates(inFile: path) else {
            return problem("contains no readable certificates")
        }
        return nil
    }

    /// Findings that do not prevent a start, as sentences: each job checks its folders again, so a disk or the
    /// administrator may add them later. A folder on an unresponsive server blocks the call.
    package var warnings: [String] {
        let roots = kinds.upload.roots.compactMap { root in
            problem(ofFolder: root).map { "upload.roots: \($0) nothing in it can be sent until that is fixed" }
        }
        let credentials = credentialFolder.flatMap { folder in
            problem(ofFolder: folder).map {
                "upload.credentials: \($0) jobs that use a credential fail until that is fixed"
            }
        }
        return roots + [credentials].compactMap(\.self)
    }

    /// The number of rules of the tracking list that are used, and the number that are left out because they contain
    /// more than a name and a host, as a sentence; nil without a list.
    package var trackingListSummary: String? {
        trackingList.map { list in
            "unfurl.tracking_list: \(list.count) \(list.count == 1 ? "rule" : "rules") loaded, \(list.skipped) skipped that contain more than a name and a host"
        }
    }

    /// Returns why files in the folder cannot be read; nil if they can. The caller completes the sentence.
    private func problem(ofFolder path: String) -> String? {
        var facts = stat()
        guard stat(path, &facts) == 0 else {
            return "\(path) cannot be accessed (\(String(cString: strerror(errno))));"
        }
        guard facts.st_mode & S_IFMT == S_IFDIR else { return "\(path) is not a folder;" }
        guard access(path, R_OK | X_OK) == 0 else {
            return "\(path) cannot be read (\(String(cString: strerror(errno))));"
        }
        return nil
    }

    // MARK: The configuration

    /// The configuration of the kinds.
    ///
    /// - Parameters:
    ///   - version: The version that requests name in their user agent.
    ///   - documents: Where documents from servers are parsed.
    package func configuration(version: String, documents: DocumentReader.Location) -> KindsConfiguration {
        var kinds = kinds
        let lookUp = credentialFolder.map { credentials(inDirectory: $0) }
        if let lookUp { kinds.upload.credentials = lookUp }
        if let name = proxyCredential {
            kinds.outgoing.proxySecret = { () throws(KindFailure) in try proxySecret(named: name, lookUp) }
        }
        kinds.outgoing.version = version
        kinds.unfurl.tracking.add(trackingParameters)
        if let trackingList { kinds.unfurl.tracking.add(trackingList) }
        kinds.documents = documents
        return kinds
    }
}

private func proxySecret(named name: String, _ lookUp: CredentialLookup?) throws(KindFailure) -> String {
    if let secret = try lookUp?(name), !secret.isEmpty { return secret }
    throw KindFailure.missingProxyCredential(name)
}
