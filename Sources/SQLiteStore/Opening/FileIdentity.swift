import Glibc

/// Identifies a file by device and inode, whatever its names.
struct FileIdentity: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// The identity of the file at `path`; nil, with `errno` set, if there is none.
    init?(at path: String) {
        guard let status = status(at: path) else { return nil }
        self.init(status)
    }

    /// Parses the format of ``text``.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let device = UInt64(parts[0]), let inode = UInt64(parts[1]) else { return nil }
        self.device = device
        self.inode = inode
    }

    var text: String { "\(device):\(inode)" }
}
