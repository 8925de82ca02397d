import Glibc
import Jobs
import OperationTypes
import WorkerProtocol

/// Checks that a program follows the protocol of workers, by starting it as the daemon would.
///
/// Each check starts the program again. The program's standard error stays visible. While checks run, the process ignores
/// SIGPIPE.
public struct WorkerConformance: Sendable {
    /// The result of one check.
    public struct Result: Hashable, Sendable {
        /// The result without its reason.
        public enum Verdict: String, Hashable, Sendable {
            case passed, failed
            /// The check does not apply to the program.
            case skipped
        }

        /// The name of the check, such as `drain`.
        public var name: String
        /// The rule that was checked, in one sentence.
        public var rule: String
        public var verdict: Verdict
        /// Why the check failed or was skipped; nil if it passed.
        public var reason: String?
        /// How the attempt of the check `run` ended; nil for all other checks.
        public var outcome: Outcome?
    }

    /// How an attempt ended. Both cases follow the protocol.
    public enum Outcome: Hashable, Sendable {
        /// The attempt succeeded with this output.
        case succeeded(JSONText)
        /// The attempt failed.
        case failed(JobFailure)

        /// Nil if the message does not end an attempt.
        init?(_ message: WorkerMessage) {
            switch message {
            case .succeeded(_, let output, _): self = .succeeded(output)
            case .failed(_, let failed): self = .failed(failed.failure)
            default: return nil
            }
        }
    }

    /// The program does not announce the kind that attempts should run.
    public struct UnknownKind: Error, Hashable {
        /// The value of ``WorkerConformance/kind``.
        public var kind: String
        /// The names of the kinds that the program announces.
        public var announced: [String]
    }

    /// The program and its arguments. A name without a slash is searched for in `PATH`.
    public var command: [String]
    /// The settings that the program receives, a JSON object.
    public var settings: JSONText
    /// The kind that attempts run; nil for the first kind that the program announces.
    public var kind: String?
    /// The input of attempts.
    public var input: JSONText
    /// The longest wait for the end of an attempt.
    public var attemptLimit: Duration
    /// The longest wait for any other answer; an introduction may take twice as long.
    public var answerLimit: Duration

    /// Creates the checks of a program.
    public init(
        command: [String], settings: JSONText = .emptyObject, kind: String? = nil, input: JSONText = .emptyObject,
        attemptLimit: Duration = .seconds(60), answerLimit: Duration = .seconds(10)
    ) {
        self.command = command
        self.settings = settings
        self.kind = kind
        self.input = input
        self.attemptLimit = attemptLimit
        self.answerLimit = answerLimit
    }

    /// Runs all checks like ``run(beginning:_:)``, and calls only `report`.
    public func run(_ report: (Result) throws -> Void) throws -> Bool {
        try run(beginning: { _ in }, report)
    }

    /// Runs all checks in order. Blocks the thread. If the program does not introduce itself, the other checks are
    /// skipped. If it does not answer a check in time, later checks that need the same answer are skipped.
    ///
    /// - Parameters:
    ///   - begin: Called with the name of each check before the check runs.
    ///   - report: Called after each check.
    /// - Returns: Whether no check failed.
    /// - Throws: ``UnknownKind`` if the program introduces itself but does not announce ``kind``; errors of the closures.
    public func run(
        beginning begin: (String) throws -> Void, _ report: (Result) throws -> Void
    ) throws -> Bool {
        signal(SIGPIPE, SIG_IGN)
        var kinds: [AnnouncedKind] = []
        let introduction = Check("introduction", "It answers hello with the kinds that it runs.") {
            program throws(Finding) in
            kinds = try Check.introduce(program)
        }
        var hasPassed = true
        // The checks that got no answer or were skipped for that reason, each with the check that got no answer first.
        var unanswered: [String: String] = [:]
        for check in [introduction] + Check.all {
            try begin(check.name)
            var result = Result(name: check.name, rule: check.rule, verdict: .passed)
            do throws(Finding) {
                if kinds.isEmpty, check.name != introduction.name {
                    throw .skip("the program did not introduce itself")
                }
                if let first = check.precondition.flatMap({ unanswered[$0] }) {
                    unanswered[check.name] = first
                    throw .skip("the program did not answer in time in the check \"\(first)\"")
                }
                result.outcome = try check.run(CheckedProgram(conformance: self, kinds: kinds))
            } catch {
                result.verdict = error.isFailure ? .failed : .skipped
                result.reason = error.reason
                if error.isSilence { unanswered[check.name] = check.name }
            }
            if let kind, !kinds.isEmpty, !kinds.contains(where: { $0.description.name == kind }) {
                throw UnknownKind(kind: kind, announced: kinds.map(\.description.name).sorted())
            }
            if result.verdict == .failed { hasPassed = false }
            try report(result)
        }
        return hasPassed
    }
}

/// Why a check failed or does not apply.
struct Finding: Error {
    var reason: String
    var isFailure = true
    /// Whether the program did not answer within the limit.
    var isSilence = false

    init(_ reason: String) { self.reason = reason }

    static func silence(_ reason: String) -> Finding {
        var finding = Finding(reason)
        finding.isSilence = true
        return finding
    }

    static func skip(_ reason: String) -> Finding {
        var finding = Finding(reason)
        finding.isFailure = false
        return finding
    }
}
