import JobFiles
import Jobs
import Logging

/// Keeps logs and result files with the daemon's jobs, and repeats the lines of logs in the daemon's own log.
public struct JobProgramFiles: ProgramFiles {
    private let files: JobFiles
    private let logger: Logger

    /// Uses the files of a daemon's jobs.
    public init(_ files: JobFiles, logger: Logger) {
        self.files = files
        self.logger = logger
    }

    public var folder: String { files.folder }

    public func beginLog(of lease: Lease, limit: Int) throws -> any ProgramLog {
        try files.beginLog(of: lease, limit: limit) { [logger] lines in
            for line in lines {
                let stream = line.isOwn ? "halyard" : "output"
                // The job's log has only one stream, so the line itself names its origin there.
                let text = line.isOwn ? line.text.trimmingPrefix(ProgramServer.origin) : line.text[...]
                logger.info(
                    "job \(lease.job) attempt \(lease.attempt) \(stream): \(text)",
                    metadata: [
                        "HALYARD_JOB": "\(lease.job)", "HALYARD_ATTEMPT": "\(lease.attempt)",
                        "HALYARD_STREAM": "\(stream)",
                    ])
            }
        }
    }

    public func keep(_ path: String, of lease: Lease, name: String) throws -> KeptFile {
        try files.keep(path, of: lease, name: name)
    }

    public func discard(_ lease: Lease) throws { try files.discard(lease) }

    public func lend(_ lease: Lease, at path: String) throws -> LentFile? { try files.lend(lease, at: path) }

    public func takeBack(_ lent: LentFile) throws -> Bool { try files.takeBack(lent) }
}

extension AttemptLog: ProgramLog {}
