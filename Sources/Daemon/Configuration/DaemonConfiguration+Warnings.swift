import Glibc

extension DaemonConfiguration {
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
