import Glibc

extension DaemonConfiguration {
    /// Makes the folder of uploads under way, for us alone, where there is none.
    func makeCheckpointDirectory() throws(DaemonFailure) {
        guard mkdir(checkpointDirectory, 0o700) == 0 || errno == EEXIST else {
            let code = errno
            throw DaemonFailure(
                .configuration,
                "The folder \(checkpointDirectory) cannot be made: \(String(cString: strerror(code))). Set upload.checkpoints to a folder that the daemon's user can write.",
                errno: code)
        }
    }
}
