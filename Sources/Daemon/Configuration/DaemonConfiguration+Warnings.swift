import Dispatch
import Glibc
import Kinds
import Logging

extension DaemonConfiguration {
    /// Logs `warnings` on a background thread and returns at once, since a folder on an unresponsive server can
    /// block the check.
    func logWarnings(to logger: Logger) {
        DispatchQueue.global().async { for warning in warnings { logger.warning("\(warning)") } }
    }

    /// Problems that do not prevent a start: each job checks its folders again, so a disk or the administrator may add
    /// them later.
    var warnings: [String] {
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
}
