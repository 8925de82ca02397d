import Foundation
import Jobs
import OperationTypes
import Synchronization
import Testing

@Suite struct JobContextTests {
    struct State: Codable, Hashable, Sendable {
        var done: Int
        var text = ""
    }

    private final class Saved: Sendable {
        let values = Mutex<[JSONText]>([])
        var all: [JSONText] { values.withLock(\.self) }
    }

    private let saved = Saved()

    private func context(_ checkpoint: JSONText? = nil, _ error: CheckpointError? = nil) -> JobContext {
        JobContext(
            lease: Lease(job: JobID(1), attempt: 1), operation: OperationContext(), checkpoint: checkpoint,
            onSave: { [saved] value throws(CheckpointError) in
                if let error { throw error }
                saved.values.withLock { $0.append(value) }
            }, onEnqueue: { _ in })
    }

    @Test func aSavedValueIsDecodedByTheNextAttempt() async throws {
        try await context().save(State(done: 3))
        let next = context(saved.all[0])
        #expect(try next.checkpoint(as: State.self) == State(done: 3))
        #expect(try context().checkpoint(as: State.self) == nil)
        #expect(throws: DecodingError.self) { try next.checkpoint(as: [Int].self) }
    }

    @Test func jsonIsSavedUnchanged() async throws {
        let text = JSONText(trusted: Array("{ \"b\" : 1.50, \"a\":[] }".utf8))
        try await context().save(text)
        #expect(saved.all == [text])
    }

    @Test func aValueOfTheLargestSizeIsSavedAndALargerOneIsRefused() async throws {
        let largest = String(repeating: "x", count: Checkpoint.maxBytes - 2)
        try await context().save(largest)
        #expect(saved.all.map(\.bytes.count) == [Checkpoint.maxBytes])
        await #expect(throws: CheckpointError.tooLarge(bytes: Checkpoint.maxBytes + 1)) {
            try await context().save(largest + "x")
        }
        #expect(saved.all.count == 1)
    }

    @Test func aValueThatCannotBeStoredIsRefused() async {
        await #expect(throws: CheckpointError.self) { try await context().save(State(done: 1, text: "a\0b")) }
        await #expect(throws: CheckpointError.self) { try await context().save(Double.nan) }
        await #expect(throws: CheckpointError.self) { try await context().save(JSONText(trusted: Array("{".utf8))) }
        #expect(saved.all == [])
    }

    @Test func theReasonReachesTheKind() async {
        await #expect(throws: CheckpointError.leaseLost) { try await context(nil, .leaseLost).save(1) }
    }

    @Test(arguments: [
        (CheckpointError.tooLarge(bytes: 70_000), "70000 bytes; the limit is 65536"), (.invalid("why"), ": why."),
        (.leaseLost, "no longer holds"), (.notSaved(reason: "The disk is full."), "saved. The disk is full. Continue"),
    ])
    func eachErrorSaysWhatToDo(_ error: CheckpointError, _ part: String) {
        let text = "\(error)"
        #expect(text.contains(part), "\(text)")
        #expect(text.hasSuffix("."))
    }

    // MARK: The example of the manual

    @Test func theExampleResumesAfterTheFilesThatItHasCounted() async throws {
        let input = CountFiles.Input(files: ["a", "b", "c"])
        await #expect(throws: CountFiles.Failure(code: "unreadable", description: "c")) {
            try await CountFiles(contents: ["a": "1 2", "b": "3"]).run(input, job: context())
        }
        // The first two files are gone.
        let next = context(saved.all.last)
        let output = try await CountFiles(contents: ["c": "4 5 6"]).run(input, job: next)
        #expect(output == CountFiles.Output(words: 6))
    }

    @Test func theExampleBeginsAgainIfTheCheckpointDoesNotFit() async throws {
        let kind = CountFiles(contents: ["a": "1 2"])
        let output = try await kind.run(CountFiles.Input(files: ["a"]), job: context(JSONText(string: "old")))
        #expect(output == CountFiles.Output(words: 2))
    }

    @Test func theExampleContinuesIfOneSaveFailsAndStopsIfItsLeaseIsLost() async throws {
        let kind = CountFiles(contents: ["a": "1 2"])
        let input = CountFiles.Input(files: ["a", "a"])
        let output = try await kind.run(input, job: context(nil, .notSaved(reason: "The disk is full.")))
        #expect(output == CountFiles.Output(words: 4))
        await #expect(throws: CountFiles.Failure.self) { try await kind.run(input, job: context(nil, .leaseLost)) }
    }

    @Test func theExampleOfTheManualIsTheOneTriedHere() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let example = try String(contentsOf: folder.appending(path: "CountFiles.swift"), encoding: .utf8)
        let page = try String(
            contentsOf: folder.appending(path: "../../../Sources/Daemon/Daemon.docc/WritingAKind.md"), encoding: .utf8)
        let begin = try #require(example.firstRange(of: "    func run(_ input: Input, job: JobContext)"))
        let end = try #require(example[begin.lowerBound...].firstRange(of: "\n    }\n"))
        #expect(page.contains(example[begin.lowerBound..<end.upperBound]))
    }
}
