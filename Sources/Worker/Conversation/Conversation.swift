import Glibc
import Jobs
import OperationTypes
import WorkerProtocol

/// Reads the daemon's messages, on a dedicated thread with blocking reads.
///
/// After each chunk, one `started` message names all attempts of the chunk, and they begin when it is in the pipe. If the
/// process dies before that, the attempts cannot be the reason.
final class Conversation {
    private enum Phase {
        case expectingHello
        case talking(WorkerSession)
        case refused
    }

    private static let chunkBytes = 64 << 10
    /// The time that attempts have to stop after an invalid message.
    private static let grace: UInt32 = 5

    private let version: String?
    private let writer: MessageWriter
    private let ended: Latch<Int32>
    private let makeKinds: (Hello) throws(RefusedSettings) -> WorkerKinds
    private var phase = Phase.expectingHello
    private var lineNumber = 0
    private var outputs: [Lease: [DependencyOutput]] = [:]
    private var starting: [WorkerAttempt] = []

    init(
        version: String?, writer: MessageWriter, ended: Latch<Int32>,
        _ makeKinds: @escaping (Hello) throws(RefusedSettings) -> WorkerKinds
    ) {
        self.version = version
        self.writer = writer
        self.ended = ended
        self.makeKinds = makeKinds
    }

    /// Reads until the daemon closes the descriptor or sends an invalid line, and then ends the worker.
    func run(reading descriptor: Int32) {
        do throws(WorkerProtocolProblem) {
            try readLines(of: descriptor)
            // The daemon is gone, and the next one runs the attempts again, so they must not go on until then.
            if case .talking(let session) = phase, session.isRunning { _exit(ExitStatus.attemptsLeft) }
            end(with: ExitStatus.success)
        } catch {
            if case .talking = phase { logProblem("line \(lineNumber) from the daemon is invalid: \(error)") }
            end(with: ExitStatus.protocolError)
        }
    }

    private func readLines(of descriptor: Int32) throws(WorkerProtocolProblem) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunkBytes, alignment: 16)
        defer { buffer.deallocate() }
        var lines = LineReader()
        while true {
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0 && errno == EINTR { continue }
            // After an error there is no daemon either.
            if count <= 0 { return }
            try lines.add(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { line throws(WorkerProtocolProblem) in
                lineNumber += 1
                try receive(line)
            }
            startAttempts()
        }
    }

    private func end(with status: Int32) {
        switch phase {
        case .expectingHello:
            Log.write(Usage.text)
            ended.open(with: ExitStatus.usage)
        case .refused:
            break
        case .talking(let session):
            session.withdraw(starting)
            session.endInput(with: status)
            sleep(Self.grace)
            // The process exits before that if all attempts have ended.
            Log.write("attempts did not stop within \(Self.grace) seconds")
            _exit(ExitStatus.attemptsLeft)
        }
    }

    private func logProblem(_ problem: String) {
        Log.write("\(problem); install the same release of the daemon and of the worker")
    }

    // MARK: Messages

    private func receive(_ line: [UInt8]) throws(WorkerProtocolProblem) {
        let message = try DaemonMessage(line: line)
        switch phase {
        case .refused: return
        case .expectingHello:
            guard case .hello(let hello) = message else {
                throw WorkerProtocolProblem("hello must be the first message")
            }
            answer(hello)
        case .talking(let session): try receive(message, in: session)
        }
    }

    private func answer(_ hello: Hello) {
        guard hello.protocolVersion == WorkerProtocol.version else {
            logProblem(
                "the daemon speaks version \(hello.protocolVersion) of the protocol, and this worker version \(WorkerProtocol.version)"
            )
            return refuse(with: ExitStatus.protocolError)
        }
        do throws(RefusedSettings) {
            let made = try makeKinds(hello)
            do throws(KindRegistryProblem) {
                let session = WorkerSession(
                    try KindRegistry(made.kinds), of: made.kinds, savesCheckpoints: hello.savesCheckpoints,
                    writer: writer,
                    ended: ended)
                writer.send(.kinds(Announcement(version: version, kinds: session.announced, warnings: made.warnings)))
                phase = .talking(session)
            } catch {
                Log.write("\(error)")
                refuse(with: ExitStatus.software)
            }
        } catch {
            writer.send(.refused(error.refusals))
            refuse(with: ExitStatus.settings)
        }
    }

    private func refuse(with status: Int32) {
        phase = .refused
        ended.open(with: status)
    }

    private func receive(_ message: DaemonMessage, in session: WorkerSession) throws(WorkerProtocolProblem) {
        switch message {
        case .hello: throw WorkerProtocolProblem("hello was sent before")
        case .output(let message):
            // The message contains neither the job nor the attempt that produced the output.
            outputs[message.lease, default: []].append(
                DependencyOutput(dependency: JobID(0), attempt: 0, kind: message.kind, output: message.output))
        case .run(let run):
            starting.append(try session.accept(run, outputs.removeValue(forKey: run.lease) ?? []))
        case .checkpointed(let lease, let id): try session.answerSave(lease, id, nil)
        case .checkpointRefused(let lease, let id, let refusal): try session.answerSave(lease, id, refusal)
        case .stop(let lease, let request):
            outputs[lease] = nil
            session.stop(lease, request)
        case .check(let id, let inputs): session.check(id, inputs)
        case .recorded(let lease, let kind): session.noteRecorded(lease, kind)
        case .cleanUp(let id): session.cleanUp(id)
        case .jobState(let id, let state): session.answer(id, state)
        case .ping(let id): session.ping(id)
        case .drain: session.drain()
        }
    }

    private func startAttempts() {
        guard case .talking(let session) = phase, !starting.isEmpty else { return }
        writer.sendAndWait(.started(starting.map(\.lease)))
        for attempt in starting { session.start(attempt) }
        starting.removeAll(keepingCapacity: true)
    }
}
