import ControlProtocol
import Glibc
import JobFiles
import Jobs

/// A file of the spool while it is being written, under a temporary name. It is used only on the spool's
/// thread.
final class SpoolFile: Sendable {
    private let directory: String
    private let name: String
    private let descriptor: CInt

    private var temporaryPath: String { "\(directory)/\(name)\(SpoolName.unfinished)" }

    init(directory: String, name: String) throws(SpoolError) {
        self.directory = directory
        self.name = name
        let path = "\(directory)/\(name)\(SpoolName.unfinished)"
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor < 0 { throw SpoolError(path: path, code: errno) }
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws(SpoolError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + written, bytes.count - written)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw SpoolError(path: temporaryPath, code: errno)
            }
            written += count
        }
    }

    /// Writes the content to the disk, gives the file its final name, and makes the name durable too. Nobody
    /// may write to the file any more, since programs get links to it.
    func publish(as name: String) throws(SpoolError) {
        guard fchmod(descriptor, 0o400) == 0, fsync(descriptor) == 0 else {
            throw SpoolError(path: temporaryPath, code: errno)
        }
        let path = "\(directory)/\(name)"
        guard rename(temporaryPath, path) == 0 else { throw SpoolError(path: path, code: errno) }
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if folder >= 0 { close(folder) } }
        guard folder >= 0, fsync(folder) == 0 else {
            let code = errno
            unlink(path)
            throw SpoolError(path: directory, code: code)
        }
    }

    /// Removes the file before it has its final name. If the removal fails, the file is later removed as a
    /// leftover.
    func discard() { unlink(temporaryPath) }
}

/// A file operation of the spool that failed.
struct SpoolError: Error {
    let path: String
    let code: CInt
    /// The reason if the file was refused before the disk was full.
    var noRoom: NoRoom?

    var problem: ControlProblem {
        if let noRoom {
            let others =
                noRoom.promised > 0 ? ", and \(noRoom.promised) bytes are for other files that are being copied" : ""
            return ControlProblem(
                .unavailable,
                "The disk that holds \(path) has no room for the file: it needs at least \(noRoom.needed) more bytes, but only \(noRoom.room) can be used, since a part of the disk stays free for the database\(others). Free some space, prune jobs, or set spool.directory to a folder on another disk. A file inside one of the daemon's roots needs no copy."
            )
        }
        let reason = String(cString: strerror(code))
        switch code {
        case ENOSPC, EDQUOT:
            return ControlProblem(
                .unavailable, "The disk that holds \(path) is full. Free some space, then send the file again.")
        default:
            return ControlProblem(
                .storage,
                "The spool file \(path) cannot be written: \(reason). Check the folder's owner and its disk.")
        }
    }
}
