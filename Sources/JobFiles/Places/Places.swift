import Glibc
import Jobs

/// The paths of the files of jobs:
///
///     FOLDER/JOB ÷ 1000/JOB/ATTEMPT.log          the beginning of an attempt's log
///     FOLDER/JOB ÷ 1000/JOB/ATTEMPT.log.NUMBER   a segment of its rest
///     FOLDER/JOB ÷ 1000/JOB/ATTEMPT.file         a kept file
///     FOLDER/JOB ÷ 1000/JOB/ATTEMPT.kept         its name, size and digest
///     FOLDER/unsettled/JOB                       an empty file, while it is not known that the job's result is stored
///     FOLDER/pruning                             an empty file, while jobs are pruned
///
/// A folder for each thousand jobs keeps listings short and lets pruning look only where jobs were deleted.
struct Places: Sendable {
    let folder: String

    static let jobsInGroup: Int64 = 1000

    func group(_ number: Int64) -> String { "\(folder)/\(number)" }
    func group(of job: JobID) -> String { group(job.rawValue / Self.jobsInGroup) }
    func job(_ job: JobID) -> String { "\(group(of: job))/\(job)" }
    func log(_ lease: Lease) -> String { "\(job(lease.job))/\(lease.attempt).log" }
    func segment(_ number: Int, of lease: Lease) -> String {
        number == 0 ? log(lease) : "\(log(lease)).\(number)"
    }
    func content(_ lease: Lease) -> String { "\(job(lease.job))/\(lease.attempt).file" }
    func record(_ lease: Lease) -> String { "\(job(lease.job))/\(lease.attempt).kept" }
    var unsettled: String { "\(folder)/unsettled" }
    var pruning: String { "\(folder)/pruning" }

    /// Creates the folder of a job and its parents.
    func makeFolder(of id: JobID) throws(JobFilesError) {
        // Removing the last job of a group also removes the group's folder, perhaps between these calls.
        var tries = 3
        while true {
            try Folder.make(folder)
            try Folder.make(group(of: id))
            if mkdir(job(id), 0o700) == 0 || errno == EEXIST { return }
            tries -= 1
            guard errno == ENOENT, tries > 0 else {
                throw .failed(action: "creating", path: job(id), errno: errno)
            }
        }
    }

    /// The meaning of a file's name in a job's folder.
    enum Name {
        case segment(attempt: Int, number: Int)
        case content(attempt: Int)
        case record(attempt: Int)

        init?(_ name: String) {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count >= 2, let attempt = Int(parts[0]), attempt > 0 else { return nil }
            switch (parts[1], parts.count) {
            case ("log", 2): self = .segment(attempt: attempt, number: 0)
            case ("log", 3):
                guard let number = Int(parts[2]), number > 0 else { return nil }
                self = .segment(attempt: attempt, number: number)
            case ("file", 2): self = .content(attempt: attempt)
            case ("kept", 2): self = .record(attempt: attempt)
            default: return nil
            }
        }
    }

    func names(of id: JobID) throws(JobFilesError) -> [Name] {
        try Folder.names(in: job(id)).compactMap { Name($0) }
    }

    /// The numbers of an attempt's segments in ascending order; 0 is the beginning of the log.
    func segments(of lease: Lease) throws(JobFilesError) -> [Int] {
        try names(of: lease.job).compactMap { name in
            if case .segment(lease.attempt, let number) = name { number } else { nil }
        }.sorted()
    }
}
