import Glibc
import Settings

extension DaemonConfiguration {
    /// The folders that only the daemon uses, by configuration key. The daemon creates the missing ones.
    var ownFolders: [(key: String, path: String)] {
        (hasOwnHome ? [("home", homeDirectory)] : []) + [
            ("spool.directory", spoolDirectory), ("upload.checkpoints", checkpointDirectory),
            ("program.directory", programDirectory),
        ]
    }

    func makeFolders() throws(DaemonFailure) {
        for (key, path) in ownFolders where mkdir(path, 0o700) != 0 && errno != EEXIST {
            let code = errno
            throw DaemonFailure(
                code == ENOSPC || code == EDQUOT ? .temporary : isTransient(code) ? .inputOutput : .configuration,
                "\(key): the folder \(path) cannot be created (\(String(cString: strerror(code)))); use one that the daemon's user can write to.",
                errno: code)
        }
    }
}
