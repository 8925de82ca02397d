import Foundation
import Glibc
import JobFiles
import Jobs
import Testing

@Suite struct RemoveTests {
    private let folder: TemporaryFolder
    private let files: JobFiles

    init() throws {
        folder = try TemporaryFolder()
        files = JobFiles.inside(folder)
    }

    private func add(_ numbers: Int64...) throws {
        for number in numbers {
            let log = try files.beginLog(of: Lease(job: JobID(number), attempt: 1))
            log.append("a\n")
            log.finish()
        }
    }

    private func jobs(_ range: Range<Int64>) throws -> [Int64] {
        var lists = try files.jobsWithFiles(in: range)
        var found: [Int64] = []
        while let list = try lists.next() { found += list.map(\.rawValue) }
        return found
    }

    @Test func aJobsFilesAreRemovedTogether() throws {
        try add(41, 42, 5041)
        _ = try files.keep(try folder.write("abc".utf8, to: "a"), of: .first, name: "a")
        try files.remove(JobID(41))
        #expect(try folder.files() == ["files/0/42/1.log", "files/5/5041/1.log"])
        try files.remove(JobID(41))
        try files.remove(JobID(5041))
        #expect(access(folder.path + "/files/5", F_OK) != 0)
        try add(5041)
        #expect(try jobs(0..<Int64.max) == [5041, 42])
    }

    @Test func aRemovedLogCanBeReadToItsEnd() throws {
        try add(41)
        var reader = try #require(try files.readLog(of: .first))
        try files.remove(JobID(41))
        #expect(try reader.rest().texts == ["a"])
    }

    @Test func jobsAreFoundByRange() throws {
        try add(1, 999, 1000, 1001, 250_000)
        #expect(try jobs(0..<Int64.max) == [250_000, 1001, 1000, 999, 1])
        #expect(try jobs(999..<1001) == [1000, 999])
        #expect(try jobs(1001..<250_000) == [1001])
        #expect(try jobs(2000..<3000).isEmpty)
        let none = JobFiles(folder: folder.path + "/none")
        var lists = try none.jobsWithFiles(in: 0..<Int64.max)
        #expect(try lists.next() == nil)
    }

    @Test func theMarkOfPruningSurvives() throws {
        let other = JobFiles.inside(folder)
        try files.beginPruning()
        // The folder does not exist without files, so pruning has nothing to mark.
        #expect(!other.isPruning)
        try add(41)
        try files.beginPruning()
        try files.beginPruning()
        #expect(other.isPruning)
        try other.endPruning()
        try other.endPruning()
        #expect(!files.isPruning)
    }
}
