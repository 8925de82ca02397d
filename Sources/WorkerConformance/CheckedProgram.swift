import Jobs
import OperationTypes
import WorkerProtocol

/// The program that a check starts, with the kinds that it announced in the first check.
struct CheckedProgram {
    let conformance: WorkerConformance
    let kinds: [AnnouncedKind]

    /// The name of the kind that attempts run.
    var kind: String { conformance.kind ?? kinds.first?.description.name ?? "" }

    /// Starts the program, and introduces the daemon with these fields.
    func start(hello fields: String? = nil) throws(Finding) -> CheckedConversation {
        let conversation = CheckedConversation(try ProgramProcess(conformance.command), self)
        if let fields {
            conversation.send(line: fields)
        } else {
            conversation.send(.hello(Hello(version: "test", attempts: 16, settings: conformance.settings)))
        }
        return conversation
    }

    /// Starts the program and waits until it has announced its kinds.
    func startAndMeet() throws(Finding) -> CheckedConversation {
        let conversation = try start()
        _ = try conversation.introduction()
        return conversation
    }

    func run(_ lease: Lease, checkpoint: JSONText? = nil) -> DaemonMessage {
        .run(
            Run(
                lease: lease, kind: kind, input: conformance.input, checkpoint: checkpoint,
                timeout: conformance.attemptLimit))
    }
}

/// A conversation with a checked program. It refuses every message that does not fit the ones before.
final class CheckedConversation {
    private let process: ProgramProcess
    private let program: CheckedProgram
    /// The attempts that were given to the program and have not ended.
    private var given: Set<Lease> = []
    private var started: Set<Lease> = []
    private(set) var ended: [Lease: WorkerMessage] = [:]
    /// The last checkpoint of each attempt.
    private(set) var checkpoints: [Lease: JSONText] = [:]
    /// Why every checkpoint is refused; nil if all are saved.
    var checkpointRefusal: CheckpointRefusal?

    init(_ process: ProgramProcess, _ program: CheckedProgram) {
        self.process = process
        self.program = program
    }

    func send(_ messages: DaemonMessage...) {
        var bytes: [UInt8] = []
        for message in messages {
            if case .run(let run) = message { given.insert(run.lease) }
            message.append(to: &bytes)
        }
        process.send(bytes)
    }

    func send(line: String) { process.send(Array((line + "\n").utf8)) }

    func closeInput() { process.closeInput() }

    // MARK: Waiting

    func introduction() throws(Finding) -> Announcement {
        // The daemon waits twice as long for an introduction as for other answers.
        switch try next(within: program.conformance.answerLimit * 2, "an introduction (kinds)") {
        case .kinds(let announcement): return announcement
        case .refused(let refusals):
            let reasons = refusals.map { "\($0.key) \($0.message)" }.joined(separator: "; ")
            throw Finding("it refuses the settings: \(reasons)")
        default: throw Finding("its first message is neither kinds nor refused")
        }
    }

    /// Waits for the end of an attempt.
    func end(of lease: Lease) throws(Finding) -> WorkerMessage {
        while true {
            if let end = ended[lease] { return end }
            _ = try next(
                within: program.conformance.attemptLimit, "the end of attempt \(lease.attempt) of job \(lease.job)")
        }
    }

    /// Waits for an answer, and skips messages about attempts.
    func answer<Answer>(_ name: String, _ read: (WorkerMessage) -> Answer?) throws(Finding) -> Answer {
        while true {
            if let answer = read(try next(within: program.conformance.answerLimit, name)) { return answer }
        }
    }

    /// Waits for the end of the process, and checks the remaining messages.
    ///
    /// - Returns: Its exit status; nil if a signal ended it.
    func exitStatus() throws(Finding) -> Int32? {
        while let line = try process.nextLine(within: program.conformance.answerLimit) { _ = try accept(line) }
        return try process.end(within: program.conformance.answerLimit)
    }

    /// Waits for the next message; nil if the program closed its output.
    func nextUnlessEnded() throws(Finding) -> WorkerMessage? {
        guard let line = try process.nextLine(within: program.conformance.answerLimit) else { return nil }
        return try accept(line)
    }

    /// - Parameter name: The expected message.
    func next(within limit: Duration, _ name: String) throws(Finding) -> WorkerMessage {
        do throws(Finding) {
            if let line = try process.nextLine(within: limit) { return try accept(line) }
        } catch {
            var finding = error
            finding.reason += " (expected \(name))"
            throw finding
        }
        throw Finding("\(process.wayOfEnding()) (expected \(name))")
    }

    // MARK: Checking each message

    private func accept(_ line: [UInt8]) throws(Finding) -> WorkerMessage {
        let message: WorkerMessage
        do throws(WorkerProtocolProblem) {
            message = try WorkerMessage(line: line)
        } catch {
            throw Finding("a line on standard output is not a message: \(error); write logs to standard error")
        }
        switch message {
        case .started(let leases):
            for lease in leases {
                guard given.contains(lease) else { throw Finding("it started \(lease.words), which it was not given") }
                guard started.insert(lease).inserted else { throw Finding("it started \(lease.words) twice") }
            }
        case .progress(let lease, _): try requireRunning(lease, "progress")
        case .checkpoint(let lease, let id, let value): try answerCheckpoint(value, id, of: lease)
        case .connections(let lease, _): try requireRunning(lease, "connections")
        case .succeeded(let lease, _, _): try end(lease, "succeeded", message)
        case .failed(let lease, _): try end(lease, "failed", message)
        case .kinds, .refused, .checked, .jobState, .cleanedUp, .pong: break
        }
        return message
    }

    private func answerCheckpoint(_ value: JSONText, _ id: Int, of lease: Lease) throws(Finding) {
        try requireRunning(lease, "a checkpoint")
        guard value.bytes.count <= Checkpoint.maxBytes else {
            throw Finding(
                "a checkpoint of \(lease.words) has \(value.bytes.count) bytes; the limit is \(Checkpoint.maxBytes)")
        }
        checkpoints[lease] = value
        send(checkpointRefusal.map { .checkpointRefused(lease, id: id, $0) } ?? .checkpointed(lease, id: id))
    }

    private func requireRunning(_ lease: Lease, _ name: String) throws(Finding) {
        if ended[lease] != nil { throw Finding("it sent \(name) for \(lease.words), which had ended") }
        guard given.contains(lease) else { throw Finding("it sent \(name) for \(lease.words), which it was not given") }
        guard started.contains(lease) else { throw Finding("it sent \(name) for \(lease.words) before started") }
    }

    private func end(_ lease: Lease, _ name: String, _ message: WorkerMessage) throws(Finding) {
        try requireRunning(lease, name)
        given.remove(lease)
        ended[lease] = message
    }
}

extension Lease {
    fileprivate var words: String { "attempt \(attempt) of job \(job)" }
}
