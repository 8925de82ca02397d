import Control
import Glibc
import Jobs

/// Files of the person that a job shall read.
struct Spooling {
    var session: Session
    var surroundings: Surroundings

    private static let prefix = "spool:"

    /// Makes paths absolute, since the daemon works in a directory of its own.
    func makeAbsolute(_ input: inout ResolvedInput?) throws {
        guard var changed = input else { return }
        for file in changed.files where !file.path.hasPrefix(Self.prefix) && !file.path.hasPrefix("/") {
            guard access(file.path, F_OK) == 0 else { throw InputFile.failure(errno, file.path) }
            guard let here = surroundings.workingDirectory() else {
                throw CommandFailure(.noInput, "The working directory is gone. Name \(file.path) with its whole path.")
            }
            changed.object[file.field] = JSONText(string: Self.clean(here + "/" + file.path))
        }
        input = changed
    }

    /// Streams the files into the daemon's spool and names them there.
    func copy(_ input: inout ResolvedInput?) async throws {
        guard var changed = input else { return }
        for file in changed.files where !file.path.hasPrefix(Self.prefix) {
            try session.requireDaemon("Copying a file into the spool")
            let source = try InputFile(file.path, in: surroundings)
            let name = try await session.control.spool(FilePieces(file: source), size: source.size)
            changed.object[file.field] = JSONText(string: name)
        }
        input = changed
    }

    /// Without `.` and empty parts; `..` stays, because a symbolic link may stand before it.
    private static func clean(_ path: String) -> String {
        "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}
