import CLinux
import Glibc

/// The file systems on which folders are.
public enum FileSystem {
    /// Whether files can be moved and hard-linked between two folders, because both are on the same mount of the same file
    /// system. In the place of a folder that does not exist, its nearest existing parent counts.
    ///
    /// - Parameters:
    ///   - a: An absolute path.
    ///   - b: An absolute path.
    /// - Returns: True also if this cannot be found out. Moving a file then reports the reason.
    public static func isShared(by a: String, and b: String) -> Bool {
        guard let a = Place(a), let b = Place(b) else { return true }
        return a == b
    }

    /// The maximum of the reserve that copies leave free: 1 GiB.
    private static let maxReserve: Int64 = 1 << 30

    /// The number of bytes that copies of files may use on the file system of a folder. Copies leave 5 % of it free (or
    /// 1 GiB, if that is smaller), since the database and the files of jobs may be there too.
    ///
    /// - Returns: Nil if the file system does not report its free space.
    public static func room(at folder: String) -> Int64? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0, status.f_blocks > 0 else { return nil }
        func bytes(_ blocks: UInt) -> Int64 {
            Int64(clamping: UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
        }
        let free = bytes(status.f_bavail)
        return max(0, free - min(maxReserve, bytes(status.f_blocks) / 20))
    }

    private struct Place: Equatable {
        let device: UInt64
        /// The mount. Bind mounts of one file system have the same device, but the kernel moves no file between them.
        let mount: String?

        init?(_ path: String) {
            var path = path
            var descriptor = open(path, Int32(halyard_open_path) | O_CLOEXEC)
            while descriptor < 0, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
                path = String(path[..<slash])
                descriptor = open(path, Int32(halyard_open_path) | O_CLOEXEC)
            }
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var facts = stat()
            guard fstat(descriptor, &facts) == 0 else { return nil }
            device = UInt64(facts.st_dev)
            mount = Self.mount(of: descriptor)
        }

        private static func mount(of descriptor: Int32) -> String? {
            let description = open("/proc/self/fdinfo/\(descriptor)", O_RDONLY | O_CLOEXEC)
            guard description >= 0 else { return nil }
            defer { close(description) }
            var bytes = [UInt8](repeating: 0, count: 1024)
            let count = read(description, &bytes, bytes.count)
            guard count > 0 else { return nil }
            return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("mnt_id:") }.map(String.init)
        }
    }
}
