import ControlProtocol
import Jobs

/// Follows a log across restarts of the daemon. After a gap it continues behind the last entry, so no line is reported twice.
///
/// When the daemon goes away and the job is final, the rest is read from the files, so that nobody has to wait for the next
/// daemon.
struct LastingLog {
    enum Notice: Sendable {
        case pieces([LogPiece])
        /// The daemon is gone. The text says how long the log waits for it, and how to start it.
        case gone(String)
        case back
    }

    private var request: LogRequest
    private var gap: DaemonGap
    /// Whether a daemon has accepted the request. Before that, a daemon that cannot answer is an error.
    private var hasBegun = false
    private let report: (Notice) throws -> Void

    init(_ session: Session, _ request: LogRequest, patience: Duration, report: @escaping (Notice) throws -> Void) {
        self.request = request
        gap = DaemonGap(session, patience: patience)
        self.report = report
    }

    /// Reports the log, and returns at its end.
    ///
    /// - Throws: The errors of `report`; ``CommandFailure`` with `temporary` if the daemon does not come back.
    mutating func run() async throws {
        while true {
            do {
                return try await follow()
            } catch let problem as ControlProblem where problem.code == .notFound && request.first != nil {
                // The job ended in the meantime, and no further attempt has a log.
                return
            } catch let problem as ControlProblem
                where problem.code == .noDaemon || hasBegun && problem.code == .unavailable
            {
                try Task.checkCancellation()
                if !gap.isOpen, let rest = try await storedRest() { return try report(.pieces(rest)) }
                // Logs that begin during the gap are new.
                if hasBegun, request.attempt == nil, request.first == nil { request.first = 1 }
                try await gap.wait(
                    after: problem, advice: "The log is stored; read it again when the daemon runs."
                ) { [gap, report] in try report(.gone(gap.text)) }
            }
        }
    }

    private mutating func follow() async throws {
        let stream = try await gap.session.control.log(request)
        hasBegun = true
        if gap.end() { try report(.back) }
        for try await pieces in stream {
            gap.endPause()
            if let last = pieces.last { request.continue(after: last) }
            try report(.pieces(pieces))
            // The end of the stream may get lost if the daemon stops now.
            if request.attempt != nil, case .end? = pieces.last?.entry { return }
        }
        try Task.checkCancellation()
    }

    /// The rest of a final job's log; nil if it cannot be read, or if more may follow.
    private func storedRest() async throws -> [LogPiece]? {
        try await gap.session.readStored(patience: gap.readPatience) { [request] control in
            guard try await control.record(request.job).state.isFinal else { return nil }
            var (request, rest) = (request, [LogPiece]())
            request.follows = false
            do {
                repeat {
                    for try await pieces in try await control.log(request) { rest += pieces }
                    if let last = rest.last { request.continue(after: last) }
                } while request.attempt == nil && !rest.isEmpty
            } catch let problem as ControlProblem where problem.code == .notFound && request.first != nil {
                // No further attempt has a log.
            }
            return rest
        } ?? nil
    }
}

extension LogRequest {
    /// Makes this a request for the entries after one that it returned.
    fileprivate mutating func `continue`(after piece: LogPiece) {
        var next = piece.attempt
        switch piece.entry {
        case .line(let line): offset = line.nextOffset
        case .leftOut(let gap): offset = gap.offset + gap.bytes
        case .end: (next, offset) = (next + 1, 0)
        }
        if attempt == nil { first = next }
    }
}
