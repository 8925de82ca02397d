import Foundation
import SQLite

@testable import SQLiteStore

/// A disk after a power cut.
struct Image {
    let name: String
    /// The files, by their suffix after the database's name.
    let files: [String: [UInt8]]
    let acknowledged: [Int64]
    /// The last acknowledged checkpoint of each job, by its version.
    let checkpoints: [Int64: Int]

    /// The problems that occur when the database is opened on this disk.
    func problems() throws -> [String] {
        let directory = try TemporaryDirectory(inMemory: true)
        for (suffix, bytes) in files where !bytes.isEmpty {
            try Data(bytes).write(to: URL(filePath: directory.database + suffix))
        }
        let connection: Connection
        do {
            let lock = try DatabaseLock.acquire(forDatabaseAt: directory.database)
            let options = StoreOptions(walBytes: 0, minimumFreeBytes: 0, checkedBytes: .max)
            connection = try Opening(lock, options).writer().connection
        } catch {
            return ["\(error)"]
        }
        var problems: [String] = []
        let job = try connection.prepare("SELECT 1 FROM job WHERE id = :job", Parameter.self)
        let result = try connection.prepare("SELECT 1 FROM result WHERE job_id = :job", Parameter.self)
        for number in acknowledged {
            let isThere = try (number > 0 ? job : result).exists([.job <- abs(number)])
            if !isThere { problems.append("\(number) was acknowledged and is lost") }
        }
        // A job that ends later has none, and a later one may be there that was not acknowledged.
        let checkpoint = try connection.prepare(
            """
            SELECT 1
            FROM   job
            LEFT JOIN checkpoint ON checkpoint.job_id = job.id
            WHERE  job.id = :job
            AND    (state >= 4 OR checkpoint.value ->> '$.version' >= :version)
            """, Parameter.self)
        for (job, version) in checkpoints.sorted(by: { $0.key < $1.key })
        where try !checkpoint.exists([.job <- job, .version <- version]) {
            problems.append("checkpoint \(version) of job \(job) was acknowledged and is lost")
        }
        let rules: [(String, SQL)] = [
            (
                "a final job has a checkpoint",
                "SELECT count(*) FROM checkpoint JOIN job ON job.id = job_id WHERE state >= 4"
            ),
            (
                "a graph is there in part",
                "SELECT count(*) FROM graph WHERE (SELECT count(*) FROM job WHERE graph_id = graph.id) <> 3"
            ),
            (
                "a final job has no result, or an open one has",
                "SELECT count(*) FROM job LEFT JOIN result ON job_id = job.id WHERE (state >= 4) <> (job_id IS NOT NULL)"
            ),
            (
                "a dependent is free before its dependencies",
                """
                SELECT count(*) FROM job WHERE state > 0 AND EXISTS (
                    SELECT 1 FROM dependency JOIN job AS other ON other.id = dependency_id
                    WHERE dependent_id = job.id AND other.state < 4)
                """
            ),
            (
                "the tally differs from the jobs",
                "SELECT (SELECT ready + running + blocked + succeeded FROM tally) <> (SELECT count(*) FROM job)"
            ),
        ]
        for (problem, query) in rules where try connection.integer(query) != 0 { problems.append(problem) }
        return problems
    }
}
