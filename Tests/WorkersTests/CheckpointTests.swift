import Foundation
import Jobs
import OperationTypes
import Programs
import Synchronization
import Testing

@testable import Workers

/// Checkpoints on their way between a process and the daemon.
@Suite struct CheckpointTests {
    /// The checkpoints that arrived, and the answer to all of them.
    private final class Arrivals: Sendable {
        private let values = Mutex<[JSONText]>([])
        private let answer: Result<Void, CheckpointError>

        init(_ answer: Result<Void, CheckpointError> = .success(())) { self.answer = answer }

        var all: [JSONText] { values.withLock(\.self) }

        func arrive(_ value: JSONText, _ answer: @Sendable (Result<Void, CheckpointError>) -> Void) {
            values.withLock { $0.append(value) }
            answer(self.answer)
        }
    }

    private func texts(_ texts: String...) -> HostedEnd {
        .succeeded(JSONText(elements: texts.map { JSONText(string: $0) }), children: [])
    }

    @Test(.timeLimit(.minutes(1))) func anAttemptBeginsWithTheCheckpointOfTheOneBefore() async {
        let subject = HostSubject()
        let checkpoint = JSONText(trusted: Array(#"{"done":[1,2]}"#.utf8))
        subject.start(1, #"{"action":"checkpoint"}"#, checkpoint: checkpoint)
        subject.start(2, #"{"action":"checkpoint"}"#)
        subject.start(3, #"{"action":"checkpoint"}"#, checkpoint: .null)
        #expect(await subject.end(of: 1) == .succeeded(checkpoint, children: []))
        #expect(await subject.end(of: 2) == .succeeded(JSONText(string: "none"), children: []))
        #expect(await subject.end(of: 3) == .succeeded(.null, children: []))
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func eachCheckpointArrivesAndIsAnswered() async {
        let subject = HostSubject()
        let arrivals = Arrivals()
        subject.start(1, #"{"action":"save","number":3}"#, onCheckpoint: arrivals.arrive)
        #expect(await subject.end(of: 1) == texts("saved", "saved", "saved"))
        #expect(arrivals.all == [1, 2, 3].map { JSONText(integer: $0) })
        await subject.host.close()
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [CheckpointError.leaseLost, .notSaved(reason: "The disk is full.")])
    func aRefusalReachesTheKind(_ refusal: CheckpointError) async {
        let subject = HostSubject()
        subject.start(1, #"{"action":"save"}"#, onCheckpoint: Arrivals(.failure(refusal)).arrive)
        #expect(await subject.end(of: 1) == texts(refusal.description))
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func theLargestInputLeavesRoomForACheckpoint() async {
        let subject = HostSubject()
        let checkpoint = JSONText(string: String(repeating: "c", count: Checkpoint.maxBytes - 2))
        let text = String(repeating: "x", count: WorkerHost.maxInputBytes - 100)
        subject.start(1, #"{"action":"checkpoint","text":"\#(text)"}"#, checkpoint: checkpoint)
        #expect(await subject.end(of: 1) == .succeeded(checkpoint, children: []))
        await subject.host.close()
    }

    // MARK: Other programs

    /// A worker in sh that does `action` after the start of its first attempt.
    private func shell(_ action: String) -> [String] {
        [
            "/bin/sh", "-c",
            """
            read hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"act"}]}'
            read run
            echo '{"type":"started","attempts":[{"job":1,"attempt":1}]}'
            \(action)
            """,
        ]
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            #"{"type":"checkpoint","job":7,"attempt":1,"id":1,"checkpoint":1}"#,
            #"{"type":"checkpoint","job":1,"attempt":2,"id":1,"checkpoint":1}"#,
            #"{"type":"checkpoint","job":1,"attempt":1,"checkpoint":1}"#,
            #"{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":{"a"}}"#,
        ])
    func aCheckpointOfAnotherAttemptOrAnInvalidOneEndsTheProcess(_ line: String) async {
        let arrivals = Arrivals()
        let subject = HostSubject(shell("echo '\(line)'; exec sleep 600"))
        subject.start(1, "{}", onCheckpoint: arrivals.arrive)
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.failure.message.contains("broke the protocol"), "\(crash.failure.message)")
        // A program that does this each time runs only as often as one that crashes by itself.
        #expect(crash.isExplained)
        #expect(arrivals.all == [])
        await subject.host.close()
    }

    /// If the process died before the start, the same attempt would run again without the checkpoint.
    @Test(.timeLimit(.minutes(1))) func aCheckpointBeforeTheStartOfItsAttemptEndsTheProcess() async {
        let arrivals = Arrivals()
        // Both lines arrive together, so the attempt begins, and the end of the process ends it.
        let subject = HostSubject([
            "/bin/sh", "-c",
            """
            read hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"act"}]}'
            read run
            printf '%s\n%s\n' '{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":1}' \
                '{"type":"started","attempts":[{"job":1,"attempt":1}]}'
            exec sleep 600
            """,
        ])
        subject.start(1, "{}", onCheckpoint: arrivals.arrive)
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.failure.message.contains("a checkpoint of attempt 1 of job 1 before started"), "\(crash)")
        #expect(arrivals.all == [])
        await subject.host.close()
    }

    /// Without the crash, the attempt would run in the next process, which does the same, and so on forever.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func aCheckpointWithoutAStartIsACrashOfItsAttempt(isSuspect: Bool) async {
        let arrivals = Arrivals()
        let subject = HostSubject([
            "/bin/sh", "-c",
            """
            read hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"act"}]}'
            read run
            echo '{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":1}'
            exec sleep 600
            """,
        ])
        subject.start(1, "{}", isSuspect: isSuspect, onCheckpoint: arrivals.arrive)
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.isExplained && crash.others == 0)
        #expect(crash.failure.message.contains("a checkpoint of attempt 1 of job 1 before started"), "\(crash)")
        #expect(arrivals.all == [])
        await subject.host.close()
    }

    /// Another attempt that the process got and did not begin is not a suspect. But its code may have sent the checkpoint,
    /// so the attempt that the message names did not run alone.
    @Test(.timeLimit(.minutes(1))) func aCheckpointWithoutAStartAccusesNoOtherAttempt() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/checkpoint-\(UUID().uuidString.prefix(8))"
        // A folder that is left behind fills only the temporary folder.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The first process gets both attempts; the second one, the attempt that is left.
        let subject = HostSubject([
            "/bin/sh", "-c",
            """
            read hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"act"}]}'
            read run
            if mkdir \(folder); then
                read run
                echo '{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":1}'
                exec sleep 600
            fi
            echo '{"type":"succeeded","job":2,"attempt":1,"output":"innocent"}'
            read drain
            """,
        ])
        subject.start(1, "{}")
        subject.start(2, "{}")
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.isExplained && crash.others == 1)
        #expect(crash.failure.message.contains("; another job ran in it."), "\(crash)")
        #expect(await subject.end(of: 2) == .succeeded(JSONText(string: "innocent"), children: []))
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(2))) func aProcessThatDoesNotWaitForAnswersIsEnded() async {
        let arrivals = Mutex(0)
        let line = #"{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":1}"#
        let subject = HostSubject(shell("exec yes '\(line)'"))
        // No answer ever comes.
        subject.start(1, "{}", onCheckpoint: { _, _ in arrivals.withLock { $0 += 1 } })
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.failure.message.contains("more than 1000 checkpoints of attempt 1 of job 1"), "\(crash)")
        #expect(arrivals.withLock(\.self) == 1000)
        await subject.host.close()
    }

    /// The pipe is full soon, and then the answers wait in the daemon.
    @Test(.timeLimit(.minutes(2))) func aProcessThatDoesNotReadAnswersIsEnded() async {
        let refused = Arrivals(.failure(.notSaved(reason: String(repeating: "x", count: 1000))))
        let line = #"{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":1}"#
        let subject = HostSubject(shell("exec yes '\(line)'"))
        subject.start(1, "{}", onCheckpoint: refused.arrive)
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.failure.message.contains("it does not read the answers to its messages"), "\(crash)")
        #expect(refused.all.count < 3000)
        await subject.host.close()
    }

    /// The program does not wait for the answer, which is not sent after the end of the attempt.
    @Test(.timeLimit(.minutes(1))) func aCheckpointBeforeTheEndArrivesFirst() async {
        let arrivals = Arrivals()
        let subject = HostSubject(
            shell(
                """
                echo '{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":"a"}'
                echo '{"type":"succeeded","job":1,"attempt":1,"output":null}'
                read next
                """))
        let answer = Mutex<(@Sendable (Result<Void, CheckpointError>) -> Void)?>(nil)
        subject.start(
            1, "{}",
            onCheckpoint: { value, later in
                arrivals.arrive(value) { _ in answer.withLock { $0 = later } }
            })
        #expect(await subject.end(of: 1) == .succeeded(.null, children: []))
        #expect(arrivals.all == [JSONText(string: "a")])
        answer.withLock(\.self)?(.success(()))
        await subject.host.close()
    }
}
