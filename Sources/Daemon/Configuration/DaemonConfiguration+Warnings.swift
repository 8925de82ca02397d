import Dispatch
import Glibc
import Logging

extension DaemonConfiguration {
    /// Does not wait for it: a root on a server that does not answer holds up whoever looks at it.
    func logWarnings(to logger: Logger) {
        DispatchQueue.global().async { for warning in warnings { logger.warning("\(warning)") } }
    }

    /// What is no reason not to start, but worth a word: a root that is no folder, since it may come with a disk that is
    /// mounted later.
    var warnings: [String] {
        upload.roots.compactMap { root -> String? in
            var facts = stat()
            if stat(root, &facts) == 0 {
                let isFolder = facts.st_mode & S_IFMT == S_IFDIR
                return isFolder ? nil : "upload.roots: \(root) is no folder, so that nothing in it can be sent"
            }
            let reason = String(cString: strerror(errno))
            return "upload.roots: \(root) cannot be looked at (\(reason)); nothing in it can be sent until it can"
        }
    }
}
