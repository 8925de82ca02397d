import Jobs
import OperationTypes
import Testing
import WorkerProtocol

@Suite struct MessageTests {
    // MARK: Known messages

    @Test func eachDaemonMessageIsWrittenAsPromised() {
        for (message, json) in Golden.daemonMessages { #expect(text(of: message) == json + "\n") }
    }

    @Test func eachDaemonMessageIsReadAsWritten() throws {
        for (message, json) in Golden.daemonMessages { #expect(try DaemonMessage(line: Array(json.utf8)) == message) }
    }

    @Test func eachWorkerMessageIsWrittenAsPromised() {
        for (message, json) in Golden.workerMessages { #expect(text(of: message) == json + "\n") }
    }

    @Test func eachWorkerMessageIsReadAsWritten() throws {
        for (message, json) in Golden.workerMessages { #expect(try WorkerMessage(line: Array(json.utf8)) == message) }
    }

    @Test func theGoldenMessagesContainEveryType() {
        let daemonTypes = Set(Golden.daemonMessages.map { name(of: $0.message) })
        #expect(
            daemonTypes == [
                "hello", "output", "run", "checkpointed", "checkpointRefused", "stop", "check", "recorded", "cleanUp",
                "jobState", "ping", "drain",
            ])
        let workerTypes = Set(Golden.workerMessages.map { name(of: $0.message) })
        #expect(
            workerTypes == [
                "kinds", "refused", "started", "progress", "checkpoint", "connections", "succeeded", "failed",
                "checked", "jobState",
                "cleanedUp", "pong",
            ])
    }

    @Test func unknownFieldsAreIgnored() throws {
        #expect(try DaemonMessage(line: Array(#"{"soon":[1],"type":"ping","id":8}"#.utf8)) == .ping(id: 8))
    }

    @Test func aKindNeedsOnlyAName() throws {
        let message = try WorkerMessage(
            line: Array(#"{"type":"kinds","protocol":1,"kinds":[{"name":"greet"}]}"#.utf8))
        let description = KindDescription(
            name: "greet", summary: "greet", inputType: "object", outputType: "greet", accepts: nil, offers: "greet",
            fields: [])
        #expect(message == .kinds(Announcement(kinds: [AnnouncedKind(description)])))
    }

    // MARK: JSON that was stored as it arrived

    @Test func lineBreaksInStoredJSONBecomeSpaces() throws {
        let pretty = JSONText(trusted: Array("{\n  \"a\": [1,\r\n 2]\n}\n".utf8))
        let written = text(of: .run(Run(lease: Lease(job: JobID(1), attempt: 1), kind: "k", input: pretty)))
        #expect(written.utf8.filter { $0 == 0x0A }.count == 1)
        #expect(!written.utf8.contains(0x0D))
        guard case .run(let run) = try DaemonMessage(line: Array(written.utf8.dropLast())) else {
            Issue.record("the message is not a run")
            return
        }
        #expect(run.input.compact.string == #"{"a":[1,2]}"#)
    }

    @Test func aMessageIsAppendedToOthersUnchanged() {
        var bytes = Array("first\n".utf8)
        DaemonMessage.drain.append(to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "first\n{\"type\":\"drain\"}\n")
    }

    @Test func theLargestInputFitsIntoOneLine() throws {
        let input = JSONText(string: String(repeating: "x", count: JSONText.maxBytes - 2))
        #expect(input.bytes.count == JSONText.maxBytes)
        let message = DaemonMessage.run(Run(lease: Lease(job: JobID(1), attempt: 1), kind: "k", input: input))
        var line: [UInt8] = []
        message.append(to: &line)
        #expect(try DaemonMessage(line: line.dropLast()) == message)
    }

    // MARK: Lines that are refused

    /// Earlier releases of the daemon do not know the message.
    @Test func aHelloWithoutCheckpointsAsksForNone() throws {
        let hello = DaemonMessage.hello(Hello(version: "1", attempts: 2, savesCheckpoints: false))
        #expect(
            try DaemonMessage(line: Array(#"{"type":"hello","protocol":1,"version":"1","attempts":2}"#.utf8)) == hello)
    }

    @Test(arguments: [
        ("", "invalid JSON at byte 0: expected an object"),
        ("garbage", "invalid JSON at byte 0: expected an object"),
        (#"{"type":"ping","id":1} {}"#, "invalid JSON at byte 23: expected the end"),
        ("[]", "invalid JSON at byte 0: expected an object"),
        ("{}", "type: is missing; it is required"),
        (#"{"type":1}"#, "type: expected a string, found 1; put it in quotes"),
        (#"{"type":"dance"}"#, "the type of the message is unknown"),
        (#"{"type":"ping","type":"ping","id":1}"#, #"the name "type" occurs twice in one object (byte 15)"#),
        (#"{"type":"run","attempt":1,"kind":"k","input":{}}"#, "job: is missing; it is required"),
        (#"{"type":"run","job":1,"kind":"k","input":{}}"#, "attempt: is missing; it is required"),
        (#"{"type":"run","job":1,"attempt":1,"input":{}}"#, "kind: is missing; it is required"),
        (#"{"type":"run","job":1,"attempt":1,"kind":"k"}"#, "input: is missing; it is required"),
        (#"{"type":"run","job":"1","attempt":1,"kind":"k","input":{}}"#, #"job: expected a whole number, found "1""#),
        (
            #"{"type":"run","job":1,"attempt":1,"kind":"k","input":{},"tries":-1}"#,
            "tries: expected at least 0, found -1"
        ),
        (
            #"{"type":"run","job":1,"attempt":1,"kind":"k","input":{},"retry":{"tries":0}}"#,
            "retry.tries: expected 1 to 1000, found 0"
        ),
        (#"{"type":"stop","job":1,"attempt":1}"#, "reason: is missing; it is required"),
        (#"{"type":"checkpointed","job":1,"attempt":1}"#, "id: is missing; it is required"),
        (
            #"{"type":"checkpoint_refused","job":1,"attempt":1,"id":1,"reason":"too_large"}"#,
            "message: is missing; it is required"
        ),
        (#"{"type":"check","id":1,"inputs":[null]}"#, "inputs.0: is missing; it is required"),
        (
            #"{"type":"check","id":1,"inputs":[{"kind":"k","input":{}}]}"#, "inputs.0.stage: is missing; it is required"
        ),
        (#"{"type":"hello"}"#, "protocol: is missing; it is required"),
        (#"{"type":"hello","protocol":1,"attempts":0}"#, "attempts: expected at least 1, found 0"),
        (#"{"type":"hello","protocol":1,"settings":[]}"#, "settings: expected an object, found an array"),
    ])
    func invalidDaemonMessagesAreExplained(_ line: String, _ reason: String) {
        #expect(throws: WorkerProtocolProblem(reason)) { try DaemonMessage(line: Array(line.utf8)) }
    }

    @Test(arguments: [
        (#"{"type":"run"}"#, "the type of the message is unknown"),
        (#"{"type":"kinds","protocol":1}"#, "kinds: is missing; it is required"),
        (#"{"type":"kinds","protocol":1,"kinds":[{}]}"#, "kinds.0.name: is missing; it is required"),
        (
            #"{"type":"kinds","protocol":1,"kinds":[],"warnings":[1]}"#,
            "warnings.0: expected a string, found a number"
        ),
        (
            #"{"type":"kinds","protocol":1,"kinds":[{"name":"k","fields":[{"name":"n","range":[2,1]}]}]}"#,
            "kinds.0.fields.0.range: expected a list of two whole numbers, the smaller one first"
        ),
        (#"{"type":"started","attempts":[{"job":1}]}"#, "attempts.0.attempt: is missing; it is required"),
        (#"{"type":"succeeded","job":1,"attempt":1}"#, "output: is missing; it is required"),
        (
            #"{"type":"succeeded","job":1,"attempt":1,"output":1,"children":[{}]}"#,
            "children.0.definition: is missing; it is required"
        ),
        (#"{"type":"failed","job":1,"attempt":1,"message":"m"}"#, "code: is missing; it is required"),
        (
            #"{"type":"failed","job":1,"attempt":1,"code":"c","message":"m","retry_after_ms":-1}"#,
            "retry_after_ms: expected at least 0, found -1"
        ),
        (
            #"{"type":"connections","job":1,"attempt":1,"connections":{}}"#,
            "connections: expected a list, found an object"
        ),
        (#"{"type":"checkpoint","job":1,"attempt":1,"checkpoint":1}"#, "id: is missing; it is required"),
        (#"{"type":"checkpoint","job":1,"attempt":1,"id":1}"#, "checkpoint: is missing; it is required"),
        (#"{"type":"checked","id":1,"refusals":[{}]}"#, "refusals.0.message: is missing; it is required"),
    ])
    func invalidWorkerMessagesAreExplained(_ line: String, _ reason: String) {
        #expect(throws: WorkerProtocolProblem(reason)) { try WorkerMessage(line: Array(line.utf8)) }
    }

    @Test func rawAndEscapedNULAreRefused() {
        #expect(throws: WorkerProtocolProblem("invalid JSON at byte 10: expected an escape for the control character"))
        {
            try DaemonMessage(line: Array("{\"type\":\"p\u{0}ng\"}".utf8))
        }
        #expect(throws: WorkerProtocolProblem("a string contains the character U+0000 (byte 9); remove it")) {
            try DaemonMessage(line: Array(#"{"type":"\u0000"}"#.utf8))
        }
    }

    @Test func invalidUTF8IsRefused() {
        let line = Array(#"{"type":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(throws: WorkerProtocolProblem("invalid JSON at byte 8: expected a string in UTF-8")) {
            try DaemonMessage(line: line)
        }
    }

    @Test func theDeepestAcceptedJSONFitsIntoEveryMessage() throws {
        let deepest = try JSONText(
            checking: Array((String(repeating: "[", count: 129) + String(repeating: "]", count: 129)).utf8))
        let lease = Lease(job: JobID(1), attempt: 1)
        let check = DaemonMessage.check(id: 1, [PlannedInput(kind: "k", input: deepest, stage: .whole)])
        #expect(try DaemonMessage(line: Array(text(of: check).utf8.dropLast())) == check)
        let success = WorkerMessage.succeeded(
            lease, output: deepest, children: [ChildJob(definition: "d", input: deepest)])
        #expect(try WorkerMessage(line: Array(text(of: success).utf8.dropLast())) == success)
    }

    @Test func deepNestingIsRefused() {
        let nested = String(repeating: "[", count: 100_000)
        #expect(throws: WorkerProtocolProblem("the JSON is nested deeper than 132 levels")) {
            try WorkerMessage(line: Array(#"{"type":"succeeded","output":\#(nested)"#.utf8))
        }
    }

    @Test func aLineAboveTheLimitIsRefused() {
        let line = [UInt8](repeating: UInt8(ascii: " "), count: WorkerProtocol.maxLineBytes + 1)
        #expect(throws: WorkerProtocolProblem("the JSON has 2097153 bytes; the limit is 2097152")) {
            try WorkerMessage(line: line)
        }
    }

    private func text(of message: DaemonMessage) -> String {
        var bytes: [UInt8] = []
        message.append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func text(of message: WorkerMessage) -> String {
        var bytes: [UInt8] = []
        message.append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func name(of message: some Any) -> String {
        String("\(message)".prefix { $0 != "(" })
    }
}
