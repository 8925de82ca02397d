extension UploadConfiguration {
    /// Opens a file that an input names: beneath a root by its absolute path, or in the spool. Blocks.
    func open(_ file: String) throws(KindFailure) -> OpenFile {
        let opened = try locate(file)
        guard opened.size <= maxBytes else {
            throw KindFailure(
                .fileRefused,
                "\(file.printable) has \(opened.size) bytes; at most \(maxBytes) are sent. Raise the limit.")
        }
        return opened
    }

    /// The name of a file in the spool: of `spool:ID/NAME`, the part that is no decoration. Nil for other files.
    static func spoolName(in file: String) -> String? {
        guard file.hasPrefix("spool:") else { return nil }
        return String(file.dropFirst("spool:".count).prefix { $0 != "/" })
    }

    private func locate(_ file: String) throws(KindFailure) -> OpenFile {
        if let name = Self.spoolName(in: file) {
            guard let spool else { throw .invalid("file", "names the spool, but none is configured") }
            return try OpenFile(beneath: spool, at: name)
        }
        guard file.hasPrefix("/"), !file.utf8.contains(0) else {
            throw .invalid("file", "must be an absolute path, or spool:NAME")
        }
        // The longest root that holds the path; the kernel checks that the path stays beneath it.
        let root = roots.map { $0.hasSuffix("/") ? $0 : $0 + "/" }.filter { file.hasPrefix($0) }
            .max { $0.utf8.count < $1.utf8.count }
        guard let root else {
            throw KindFailure(
                .fileRefused,
                "\(file.printable) is not beneath an allowed folder; move it, or let the administrator add its folder to "
                    + "the upload roots.")
        }
        return try OpenFile(beneath: root, at: String(file.dropFirst(root.count)))
    }
}
