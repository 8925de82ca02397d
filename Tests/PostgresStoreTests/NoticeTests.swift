import Jobs
import Testing

@testable import PostgresStore

@Suite struct NoticeTests {
    @Test func itReadsWhatItWrote() throws {
        let jobs = [
            JobChange(job: JobID(1), graph: nil, state: .ready, attempt: 0),
            JobChange(job: JobID(.max), graph: GraphID(7), state: .running, attempt: 3, isCancelRequest: true),
            JobChange(
                job: JobID(2), graph: GraphID(.max), state: .scheduled, attempt: 1,
                dueAt: Timestamp(milliseconds: -1500)),
        ]
        let changes: [StoreChange] = [.jobs(jobs), .queues, .definitions, .schedules, .holders, .missed]
        let texts = Notice.texts(changes, from: .min)
        #expect(texts.count == 1)
        let notice = try #require(Notice(texts[0]))
        #expect(notice.sender == .min)
        #expect(notice.changes == changes)
        #expect(Notice.texts([], from: 1).isEmpty)
        #expect(Notice(Notice.work)?.changes == [.work])
    }

    @Test(arguments: [(100, 1), (2000, 6), (20_000, 33)])
    func manyJobsNeedSeveralTexts(count: Int, expected: Int) throws {
        let jobs = (1...count).map {
            JobChange(job: JobID(Int64($0) + 1_000_000_000), graph: GraphID(12), state: .ready, attempt: 0)
        }
        let texts = Notice.texts([.jobs(jobs), .queues], from: 5)
        #expect(texts.count == expected)
        #expect(texts.allSatisfy { $0.utf8.count < 8000 })
        let read = try texts.map { try #require(Notice($0)) }
        #expect(read.allSatisfy { $0.sender == 5 })
        let found = read.flatMap(\.changes).flatMap { change -> [JobChange] in
            if case .jobs(let some) = change { return some }
            return []
        }
        #expect(found == Array(jobs.prefix(found.count)))
        // Those that do not fit are missed.
        #expect((found.count < count) == (read.last?.changes == [.missed]))
        #expect(read[0].changes.contains(.queues))
    }

    /// Every role that may connect to the database can send notifications.
    @Test func jobsInAnotherFormAreLeftOut() throws {
        let valid = "7,,2,0,,"
        let others = [
            "", "8", "8,,2,0,", "8,,2,0,,,", "x,,2,0,,", "8,,99,0,,", "8,,,0,,", ",,2,0,,", "8,,2,,,", "8,y,2,0,,",
            "8,,2,0,,-", "8,,2,0,,--1", "8,,2,0,,1-", "99999999999999999999,,2,0,,", "8,,2,0,,é",
        ]
        let notice = try #require(Notice("1|q|" + ([valid] + others).joined(separator: ";") + ";"))
        #expect(notice.changes == [.jobs([JobChange(job: JobID(7), graph: nil, state: .ready, attempt: 0)]), .queues])
        for text in ["", "1", "1|q", "x|q|", "1|q||", "|q|"] { #expect(Notice(text) == nil) }
        #expect(Notice("1|?|")?.changes == [])
    }
}
