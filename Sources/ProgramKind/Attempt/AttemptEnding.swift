import Glibc
import Jobs
import OperationTypes
import Processes

/// The facts about an ended program that decide how its attempt ended.
struct AttemptEnding {
    let program: ProgramDefinition
    let end: ProcessEnd
    /// Standard output, if it is the result.
    let output: [UInt8]
    /// Whether standard output was larger than its limit.
    let isTooLarge: Bool
    /// Whether the result file has reached the limit of its size, so that the rest of it may be missing.
    let isFileFull: Bool
    let wasStopped: Bool
    let lines: [String]

    /// The failure of the attempt; nil if the program succeeded.
    var failure: TryFailure? {
        // A program that was asked to stop may exit with 0 without having done its work.
        if wasStopped { return fail(ProgramFailure.Code.stopped, "the program was asked to stop and \(clause)") }
        if isTooLarge {
            return fail(
                ProgramFailure.Code.outputTooLarge,
                "the standard output exceeds the limit of \(ByteSize(program.limits.outputBytes)); write less\(canRaise ? ", raise limits.output" : ""), or use result: file"
            )
        }
        // A child of the program may have reached the limit without the program noticing.
        if isFileFull { return fileTooLarge }
        switch end.status {
        case .exited(0): return nil
        case .exited(let code): return failure(ofExit: Int(code))
        case .signalled(let signal, _): return failure(ofSignal: signal)
        case .unknown:
            return fail(
                ProgramFailure.Code.lost, "how the program ended is unknown; a retry may succeed", isRetryable: true)
        }
    }

    private var canRaise: Bool { program.limits.outputBytes < ProgramLimits.maxOutput }

    private func failure(ofExit code: Int) -> TryFailure? {
        let ownCode = "exit_\(code)"
        switch program.exits[code] {
        case .succeed: return nil
        case .retry(let name): return fail(name ?? ownCode, "the program \(clause)", isRetryable: true)
        case .fail(let name): return fail(name, "the program \(clause)")
        case nil:
            return fail(
                ownCode,
                "the program \(clause)\(whereLinesAre). To retry after this code, write exit: {\(code): retry} in the definition"
            )
        }
    }

    private func failure(ofSignal signal: Int32) -> TryFailure {
        if signal == SIGKILL, end.groupUsage?.outOfMemoryKills ?? 0 > 0 {
            let limit = program.limits.memory.map { " of \(ByteSize($0))" } ?? ""
            return fail(
                ProgramFailure.Code.outOfMemory,
                "the program needed more memory than its limit\(limit) or the machine allows; raise limits.memory, or let the job do less"
            )
        }
        if signal == SIGXFSZ { return fileTooLarge }
        // Such a signal comes from a person, or from the kernel when the machine is short of memory.
        let isFromOutside = [SIGKILL, SIGTERM, SIGINT, SIGHUP].contains(signal)
        return fail(
            "killed_by_\(ProgramFailure.name(of: signal))", "the program \(clause)\(whereLinesAre)",
            isRetryable: isFromOutside)
    }

    private var fileTooLarge: TryFailure {
        fail(
            ProgramFailure.Code.outputTooLarge,
            "the program wrote a file that reached the limit of \(ByteSize(program.limits.fileBytes)); write less, or raise limits.file"
        )
    }

    private func fail(_ code: String, _ message: String, isRetryable: Bool = false) -> TryFailure {
        ProgramFailure.make(code, message + ".", isRetryable: isRetryable, detail: detail)
    }

    private var clause: String {
        switch end.status {
        case .exited(let code): "exited with \(code)"
        case .signalled(let signal, _): "was killed by \(ProgramFailure.name(of: signal).uppercased())"
        case .unknown: "ended"
        }
    }

    private var whereLinesAre: String { lines.isEmpty ? "" : "; its last lines are in the detail" }

    private var detail: JSONText {
        JSONWriter.text {
            $0.object { object in
                switch end.status {
                case .exited(let code): object.field("exit", Int64(code))
                case .signalled(let signal, _):
                    object.field("signal", ProgramFailure.name(of: signal).uppercased())
                case .unknown: break
                }
                if !lines.isEmpty { object.field("log", lines) { $1.string($0) } }
            }
        }
    }

    /// The result that standard output contains.
    ///
    /// - Throws: The failure if the output is not what the definition says.
    func value() throws(TryFailure) -> JSONText {
        let value: JSONText
        switch program.result {
        case .none, .file: return .null
        case .json:
            if output.isEmpty {
                throw fail(
                    JobFailure.Code.invalidOutput,
                    "the standard output is empty; make the program print JSON, or write result: none")
            }
            do throws(JSONProblem) {
                value = try JSONText(checking: output)
            } catch {
                throw fail(
                    JobFailure.Code.invalidOutput,
                    "the standard output is not one JSON value: \(error); make the program print JSON, or write result: text"
                )
            }
        case .text: value = JSONText(string: try text(output.last == 0x0A ? output.dropLast() : output[...]))
        case .lines:
            _ = try text(output[...])
            // Each line break becomes two quotes and a comma, so this many lines cannot fit and need not be split.
            let breaks = output.count(where: { $0 == 0x0A })
            guard output.count + 2 * breaks <= JSONText.maxBytes else { throw tooLarge(output.count + 2 * breaks) }
            // Split as bytes, since Swift counts a carriage return with its line break as one character.
            var lines = output.split(separator: 0x0A, omittingEmptySubsequences: false)
            if lines.last?.isEmpty == true { lines.removeLast() }
            value = JSONWriter.text {
                $0.array(lines) { line, writer in writer.string(String(decoding: line, as: UTF8.self)) }
            }
        }
        // Escapes make the JSON longer than the output.
        guard value.bytes.count <= JSONText.maxBytes else { throw tooLarge(value.bytes.count) }
        return value
    }

    private func tooLarge(_ minimum: Int) -> TryFailure {
        fail(
            ProgramFailure.Code.outputTooLarge,
            "the standard output has at least \(minimum) bytes as JSON; the limit is \(JSONText.maxBytes). Write less, or use result: file"
        )
    }

    private func text(_ bytes: ArraySlice<UInt8>) throws(TryFailure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw fail(
                JobFailure.Code.invalidOutput,
                "the standard output is not text in UTF-8; make the program print UTF-8, or use result: file")
        }
        return text
    }
}

extension ProgramLimits {
    var outputBytes: Int64 { output ?? Self.maxOutput }
    var fileBytes: Int64 { file ?? Self.defaultFile }
}
