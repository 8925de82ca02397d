import Jobs
import Web
import WebSyntax

extension UploadConfiguration {
    /// Opens the file that an input names: below a root by its absolute path, or in the spool. Blocks.
    ///
    /// - Throws: `file_refused` if the file is larger than ``maxBytes``, and the failures of ``OpenFile``.
    func open(_ file: String) throws(KindFailure) -> OpenFile {
        let opened = try locate(file)
        guard opened.size <= maxBytes else {
            throw KindFailure(
                .fileRefused,
                "\(file.printable) has \(opened.size) bytes; the limit is \(maxBytes). Raise the limit.")
        }
        return opened
    }

    /// Opens the file that a job has produced. Blocks.
    ///
    /// The output that describes the file may come from somebody else, so it must agree with the record that the daemon
    /// keeps beside the content.
    ///
    /// - Throws: `file_refused` if there is no such record, and the failures of ``OpenFile``.
    func open(_ kept: KeptFile) throws(KindFailure) -> OpenFile {
        guard let files, kept.path.hasPrefix(files + "/"), kept.path.hasSuffix(".file") else {
            throw .outsideRoots(kept.path)
        }
        let path = kept.path.dropFirst(files.utf8.count + 1)
        let record = try OpenFile(beneath: files, at: path.dropLast("file".count) + "kept")
        let expected = "halyard file 1 \(kept.size) \(kept.sha256) "
        guard try record.read(at: 0, upTo: 1024).starts(with: Array(expected.utf8)) else {
            throw .outsideRoots(kept.path)
        }
        return try OpenFile(beneath: files, at: String(path))
    }

    private func locate(_ file: String) throws(KindFailure) -> OpenFile {
        let (root, path) = try place(of: file)
        return try OpenFile(beneath: root, at: path)
    }

    /// Returns the reason why a file can never be sent in its present state: it is a folder, a device or a pipe, behind
    /// a symbolic link, or outside the roots. Returns nil if it may be sent or does not exist yet, and for files in the
    /// spool. Does not open the file, but may wait for a disk.
    func refusal(ofFile file: String) -> KindFailure? {
        if SpooledFile(file) != nil { return nil }
        do throws(KindFailure) {
            let (root, path) = try place(of: file)
            try OpenFile.look(beneath: root, at: path)
            return nil
        } catch {
            // A file that is missing or unreadable now may be there when the job runs.
            return error.reason == .fileNotFound || error.reason == .fileUnreadable ? nil : error
        }
    }

    static func checkName(of file: String) throws(KindFailure) {
        guard SpooledFile(file) != nil || file.hasPrefix("/") && !file.utf8.contains(0) else {
            throw .invalid("file", "must be an absolute path, or spool:NAME")
        }
    }

    private func place(of file: String) throws(KindFailure) -> (root: String, path: String) {
        try Self.checkName(of: file)
        if let name = SpooledFile(file)?.name.text {
            guard let spool else { throw .invalid("file", "names a file in the spool, but no spool is configured") }
            return (spool, name)
        }
        guard let root = root(of: file) else { throw .outsideRoots(file) }
        return (root, String(file.dropFirst(root.count)))
    }

    /// Returns the longest root that contains the path. ``OpenFile`` ensures that the file is really below it.
    func root(of file: String) -> String? {
        roots.map { $0.hasSuffix("/") ? $0 : $0 + "/" }.filter { file.hasPrefix($0) }
            .max { $0.utf8.count < $1.utf8.count }
    }
}

extension KindFailure {
    static func outsideRoots(_ file: String) -> KindFailure {
        if file.split(separator: "/").contains("..") { return OpenFile.parentInPath(file) }
        return KindFailure(
            .fileRefused,
            "The daemon may not send \(file.printable). Move it into a folder in upload.roots, or let halyard copy it into "
                + "the spool.")
    }
}
