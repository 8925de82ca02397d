import Jobs
import OperationTypes
import WorkerProtocol

/// One rule of the protocol, and the conversation that checks it.
struct Check {
    var name: String
    var rule: String
    /// The name of an earlier check that needs the same answer; if that check got no answer, this one is skipped.
    var precondition: String?
    /// Returns how the attempt ended, if the check runs one of the caller's input.
    var run: (CheckedProgram) throws(Finding) -> WorkerConformance.Outcome?

    init(_ name: String, _ rule: String, _ run: @escaping (CheckedProgram) throws(Finding) -> Void) {
        self.name = name
        self.rule = rule
        self.run = { program throws(Finding) in
            try run(program)
            return nil
        }
    }

    private func after(_ name: String) -> Check {
        var check = self
        check.precondition = name
        return check
    }

    /// A check that reports how its attempt ended.
    private static func reporting(
        _ name: String, _ rule: String, _ run: @escaping (CheckedProgram) throws(Finding) -> WorkerConformance.Outcome?
    ) -> Check {
        var check = Check(name, rule) { _ in }
        check.run = run
        return check
    }

    /// All checks after the introduction.
    static var all: [Check] {
        conversationChecks + [run, unknownKind, largeInput].map { $0.after("ping") }
            + attemptChecks.map { $0.after(run.name) }
            + inquiryChecks.map { $0.after("ping") } + [drain.after(run.name)] + endChecks
    }

    private static let first = Lease(job: JobID(1), attempt: 1)
    private static let second = Lease(job: JobID(2), attempt: 3)
    /// The next attempt of the job of ``first``.
    private static let afterFirst = Lease(job: JobID(1), attempt: 2)
    /// More than a daemon could use.
    private static let futureVersion = 999

    // MARK: The introduction

    /// Returns the kinds that the program announces.
    static func introduce(_ program: CheckedProgram) throws(Finding) -> [AnnouncedKind] {
        let announcement = try program.start().introduction()
        guard announcement.protocolVersion == WorkerProtocol.version else {
            throw Finding(
                "it speaks version \(announcement.protocolVersion) of the protocol; this release speaks version \(WorkerProtocol.version)"
            )
        }
        guard !announcement.kinds.isEmpty else { throw Finding("it announces no kinds") }
        var names: Set<String> = []
        for name in announcement.kinds.map(\.description.name) {
            guard isName(name) else {
                throw Finding(
                    "\"\(name)\" is not a valid name for a kind; use a-z, 0-9, \".\", \"_\" and \"-\", beginning with a letter or a digit, at most 64 bytes"
                )
            }
            guard names.insert(name).inserted else { throw Finding("it announces the kind \(name) twice") }
        }
        return announcement.kinds
    }

    private static func isName(_ name: String) -> Bool {
        func isLetterOrDigit(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) }
        return (1...64).contains(name.utf8.count) && name.utf8.first.map(isLetterOrDigit) == true
            && name.utf8.allSatisfy { isLetterOrDigit($0) || ".-_".utf8.contains($0) }
    }

    // MARK: The conversation

    private static var conversationChecks: [Check] {
        [
            Check("unknown fields", "It ignores fields that it does not know.") { program throws(Finding) in
                let settings = program.conformance.settings.compact.string
                let conversation = try program.start(
                    hello:
                        #"{"type":"hello","protocol":1,"version":"test","attempts":16,"settings":\#(settings),"later":{"a":[1]}}"#
                )
                _ = try conversation.introduction()
            },
            Check("version", "It does not claim to speak a version of the protocol that it cannot know.") {
                program throws(Finding) in
                let conversation = try program.start(
                    hello: #"{"type":"hello","protocol":\#(futureVersion),"version":"test","attempts":1,"settings":{}}"#
                )
                // Exiting is as good as answering with the version that it speaks.
                guard case .some(.kinds(let announcement)) = try conversation.nextUnlessEnded() else { return }
                if announcement.protocolVersion == futureVersion {
                    throw Finding("it claims to speak version \(futureVersion)")
                }
            },
            Check("ping", "It answers a ping with a pong of the same id.") { program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.send(.ping(id: 7))
                try conversation.answer("pong") { message in if case .pong(id: 7) = message { () } else { nil } }
            },
        ]
    }

    // MARK: Attempts

    private static var run: Check {
        reporting("run", "It announces an attempt as started and then ends it.") { program throws(Finding) in
            let conversation = try program.startAndMeet()
            conversation.send(program.run(first))
            return WorkerConformance.Outcome(try conversation.end(of: first))
        }
    }

    private static var unknownKind: Check {
        Check("unknown kind", "It fails an attempt of a kind that it lacks with the code unknown_kind.") {
            program throws(Finding) in
            let conversation = try program.startAndMeet()
            conversation.send(.run(Run(lease: first, kind: "no-such-kind", input: .emptyObject)))
            guard case .failed(_, let failed) = try conversation.end(of: first) else {
                throw Finding("the attempt succeeded")
            }
            guard failed.failure.code == JobFailure.Code.unknownKind else {
                throw Finding("the code is \(failed.failure.code)")
            }
            conversation.send(.ping(id: 1))
            try conversation.answer("pong") { message in if case .pong = message { () } else { nil } }
        }
    }

    private static var largeInput: Check {
        Check("large input", "It accepts an input of 1 MiB.") { program throws(Finding) in
            let conversation = try program.startAndMeet()
            let large = JSONText(string: String(repeating: "x", count: JSONText.maxBytes - 2))
            conversation.send(.run(Run(lease: first, kind: "no-such-kind", input: large)))
            _ = try conversation.end(of: first)
        }
    }

    /// Checks that run attempts of the checked kind.
    private static var attemptChecks: [Check] {
        [
            Check("two attempts", "It runs two attempts that arrive together, and does not confuse them.") {
                program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.send(program.run(first), program.run(second))
                _ = try conversation.end(of: second)
                _ = try conversation.end(of: first)
            },
            Check("outputs", "It accepts the outputs of dependencies before their attempt.") {
                program throws(Finding) in
                let conversation = try program.startAndMeet()
                let large = JSONText(string: String(repeating: "x", count: JSONText.maxBytes - 2))
                conversation.send(
                    .output(DependencyMessage(lease: first, kind: "no-such-kind", output: large)),
                    .output(DependencyMessage(lease: first, kind: program.kind, output: .null)), program.run(first))
                _ = try conversation.end(of: first)
            },
            Check("stop", "It ends an attempt that is asked to stop, and ignores a stop for any other.") {
                program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.send(
                    .stop(second, StopRequest(.cancelled, isForGood: true)), program.run(first),
                    .stop(first, StopRequest(.cancelled, isForGood: true)))
                _ = try conversation.end(of: first)
                conversation.send(.stop(first, StopRequest(.cancelled, isForGood: true)), .ping(id: 1))
                try conversation.answer("pong") { message in if case .pong = message { () } else { nil } }
            },
            Check(
                "checkpoint",
                "It saves checkpoints while an attempt runs, and ends an attempt that begins with the last one."
            ) {
                program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.send(program.run(first))
                _ = try conversation.end(of: first)
                guard let checkpoint = conversation.checkpoints[first] else { throw noCheckpoint }
                let next = try program.startAndMeet()
                next.send(program.run(afterFirst, checkpoint: checkpoint))
                _ = try next.end(of: afterFirst)
            },
            Check("refused checkpoint", "It ends an attempt whose checkpoints are refused.") {
                program throws(Finding) in
                for reason in CheckpointRefusal.Reason.allCases {
                    let conversation = try program.startAndMeet()
                    conversation.checkpointRefusal = CheckpointRefusal(reason, message: "This is a test.")
                    conversation.send(program.run(first))
                    _ = try conversation.end(of: first)
                    if conversation.checkpoints.isEmpty { throw noCheckpoint }
                }
            },
            Check("foreign checkpoint", "It ends an attempt whose checkpoint another version of the worker saved.") {
                program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.send(
                    program.run(first, checkpoint: JSONText(trusted: Array(#"{"of another version":[1]}"#.utf8))))
                _ = try conversation.end(of: first)
                conversation.send(.ping(id: 1))
                try conversation.answer("pong") { message in if case .pong = message { () } else { nil } }
            },
            Check("recorded", "It accepts the message recorded, and does not answer it.") { program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.send(program.run(first))
                _ = try conversation.end(of: first)
                conversation.send(.recorded(first, kind: program.kind), .ping(id: 1))
                guard case .pong = try conversation.next(within: program.conformance.answerLimit, "pong") else {
                    throw Finding("it answered the message recorded")
                }
            },
        ]
    }

    private static var noCheckpoint: Finding { .skip("the attempt saved no checkpoint") }

    // MARK: Inquiries

    private static var inquiryChecks: [Check] {
        [
            Check("check", "It answers for each input whether it can be accepted.") { program throws(Finding) in
                guard let kind = program.kinds.first(where: \.checksInputs) else {
                    throw .skip("no kind wants to check inputs")
                }
                let conversation = try program.startAndMeet()
                let input = PlannedInput(kind: kind.description.name, input: program.conformance.input, stage: .whole)
                conversation.send(.check(id: 3, [input, input]))
                let count = try conversation.answer("checked") { message in
                    if case .checked(id: 3, let refusals) = message { refusals.count } else { nil }
                }
                if count != 2 { throw Finding("it was asked about 2 inputs and answered for \(count)") }
            },
            Check("clean up", "It answers a request to clean up, and may ask for the states of jobs.") {
                program throws(Finding) in
                guard program.kinds.contains(where: \.cleansUp) else { throw .skip("no kind cleans up") }
                let conversation = try program.startAndMeet()
                conversation.send(.cleanUp(id: 4))
                try conversation.answer("cleaned_up") { message in
                    if case .jobState(let id, _, _) = message { conversation.send(.jobState(id: id, nil)) }
                    return if case .cleanedUp(id: 4, _) = message { () } else { nil }
                }
            },
        ]
    }

    // MARK: The end

    private static var drain: Check {
        Check("drain", "It finishes its attempts and then exits with status 0.") { program throws(Finding) in
            let conversation = try program.startAndMeet()
            conversation.send(program.run(first), .drain)
            _ = try conversation.end(of: first)
            try expectExit(conversation, 0)
        }
    }

    private static var endChecks: [Check] {
        [
            Check("idle drain", "It exits with status 0 at once if nothing runs.") { program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.send(.drain)
                try expectExit(conversation, 0)
            },
            Check("end of input", "It exits if the daemon closes its standard input.") { program throws(Finding) in
                let conversation = try program.startAndMeet()
                conversation.closeInput()
                _ = try conversation.exitStatus()
            },
        ]
    }

    private static func expectExit(_ conversation: CheckedConversation, _ expected: Int32) throws(Finding) {
        let status = try conversation.exitStatus()
        guard status == expected else {
            throw Finding(status.map { "it exited with status \($0)" } ?? "a signal ended it")
        }
    }
}
