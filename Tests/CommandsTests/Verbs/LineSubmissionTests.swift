import ControlProtocol
import Jobs
import SQLiteStore
import StoreControl
import Testing

@testable import Commands

/// The summary of many submitted lines, and the messages when the submission stops among them.
@Suite struct LineSubmissionTests {
    private static let receipt = EnqueueReceipt(graph: nil, jobs: [JobID(1)])

    private func tally(_ answers: SubmissionAnswer...) -> LineTally {
        var tally = LineTally()
        for answer in answers { tally.count(answer) }
        return tally
    }

    private let mixed: [SubmissionAnswer] = [
        .enqueued(receipt), .refused(ControlProblem(.invalidInput, "No.")), .duplicate(receipt), .enqueued(receipt),
    ]

    @Test func whatIsNewIsToldFromWhatWasThere() {
        #expect(tally(.enqueued(Self.receipt)).text == "1 line enqueued")
        #expect(tally(.duplicate(Self.receipt)).text == "0 lines enqueued, 1 was there already")
        var all = LineTally()
        for answer in mixed + mixed { all.count(answer) }
        #expect(all.text == "4 lines enqueued, 2 were there already, 2 refused")
    }

    /// The daemon runs, so the command does not wait for it; none of the unwritten lines is stored.
    @Test func aFullDiskSaysFromWhereToGoOn() {
        let failure = tally(.enqueued(Self.receipt), .duplicate(Self.receipt))
            .stopped(by: ControlProblem(StoreError.diskFull(path: "/x")), from: 7, to: 9)
        #expect(failure.exit == .temporary)
        #expect(
            failure.message
                == "line 7 and the following lines: The disk that holds /x is full. Free some space; nothing was written."
        )
        #expect(
            failure.details == [
                "Before line 7: 1 line enqueued, 1 was there already. Then send the lines from 7 on again: nothing is enqueued twice."
            ])
    }

    @Test(arguments: [
        (9, "Lines 7 to 9 may have been enqueued"), (7, "Line 7 may have been enqueued"),
    ])
    func whatIsNotKnownIsNotToBeSentAgainBlindly(last: Int, what: String) {
        let problem = ControlProblem(.unknownOutcome, "The daemon ended the connection.")
        let failure = tally(.enqueued(Self.receipt)).stopped(by: problem, from: 7, to: last)
        #expect(failure.problem.code == .unknownOutcome)
        #expect(
            failure.details == [
                "Before line 7: 1 line enqueued. \(what); the following lines were not. Lines with a key are safe to send again; check the others first with: halyard list"
            ])
    }

    /// `/dev/zero` has no end.
    @Test(.timeLimit(.minutes(5))) func inputWithoutLinesIsNotReadForever() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("enqueue", "--lines", "/dev/zero")
        #expect(run.code == .data)
        #expect(
            run.errors == """
                halyard: line 1 is longer than 16.0 MiB; this line and the following lines were not enqueued. Split it.
                  Before line 1: 0 lines enqueued. Then send the lines from 1 on again.

                """)
    }

    @Test func aLineMayNotBeOfAnyLength() async throws {
        let shop = try await Workshop()
        let good = #"{"definition":"unfurl","input":{"url":"http://a/"}}"#
        let long = String(repeating: "x", count: (16 << 20) + 1)
        let run = try await shop.run("enqueue", "--lines", "-", input: [good, long, good].joined(separator: "\n"))
        #expect(run.code == .data)
        #expect(run.output == "1\n")
        #expect(
            run.errors.hasSuffix(
                """
                halyard: line 2 is longer than 16.0 MiB; this line and the following lines were not enqueued. Split it.
                  Before line 2: 1 line enqueued. Then send the lines from 2 on again.

                """), "\(run.errors)")
        #expect(run.errors.hasPrefix("halyard: no daemon is running; wrote to"))
    }

    @Test func linesThatWereThereAreCountedApart() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            func line(_ key: Int) -> String {
                #"{"definition":"unfurl","input":{"url":"http://a/"},"key":"\#(key)"}"#
            }
            #expect(try await shop.run("enqueue", "--lines", "-", input: line(1)).errors.isEmpty)
            let run = try await shop.run(
                "enqueue", "--lines", "-", input: [line(1), line(2), line(3)].joined(separator: "\n"))
            #expect(run.code == .success)
            #expect(run.output == "1\n2\n3\n")
            #expect(run.errors == "halyard: 2 lines enqueued, 1 was there already\n")
            let refused = try await shop.run(
                "enqueue", "--lines", "-", input: [line(1), line(2), "{", line(4)].joined(separator: "\n"))
            #expect(refused.code == .data)
            #expect(
                refused.errors.hasSuffix(
                    "halyard: 1 line enqueued, 2 were there already, 1 refused; correct the refused lines and send only those again\n"
                ), "\(refused.errors)")
            #expect(try await daemon.store.jobs(JobFilter()).count == 4)
        }
    }

    @Test func whatIsSkippedAtOnceIsTold() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { _ in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            _ = try await shop.run("cancel", "1")
            func line(_ more: String) -> String { #"{"definition":"unfurl","input":{"url":"http://a/"}\#(more)}"# }
            let run = try await shop.run(
                "enqueue", "--lines", "-",
                input: [line(""), line(#","after":[{"job":1,"condition":"succeeded"}]"#)].joined(separator: "\n"))
            #expect(run.code == .success)
            #expect(run.output == "2\n3\n")
            #expect(
                run.errors
                    == "halyard: line 2: job 3 will not run: a dependency had already ended with another outcome. See: halyard why 3\n"
            )
        }
    }

    @Test func aFileOutsideTheRootsIsNotCopiedByLines() async throws {
        let shop = try await Workshop()
        let photo = try shop.file("photo.jpg", "x")
        try await RunningDaemon.with(shop) { _ in
            let run = try await shop.run(
                "enqueue", "--lines", "-",
                input: #"{"definition":"upload","input":{"file":"\#(photo)","url":"http://b/"}}"#)
            #expect(run.code == .data)
            #expect(
                run.errors.hasPrefix(
                    """
                    halyard: line 1: DIRECTORY/photo.jpg is outside the roots.
                      --lines cannot copy files. Enqueue it separately: halyard enqueue NAME --input FILE --copy

                    """), "\(run.errors)")
        }
    }
}
