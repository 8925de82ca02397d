import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore

/// Answers one request: finds its route, converts errors to problems, and ends a connection whose request was
/// not completely read.
struct ControlResponder: Sendable {
    private let replies: Replies
    private let limits: ServerLimits
    /// Permits for bodies of more than 1 MiB. A body holds one from its first byte beyond that size until its
    /// request is carried out.
    private let bigBodies = Permits(2)
    private let deadlines: BodyDeadlines
    private let logger: Logger
    private let isAllowed: ControlServer.PeerCheck
    private let databaseHeader: String?

    private let memory: AnswerMemory

    private enum Replies {
        case routes(RouteTable)
        /// One answer for every request, for a daemon that cannot start.
        case problem(ControlProblem)
    }

    /// Creates a responder that answers every request with the same problem.
    init(refusing problem: ControlProblem, limits: ServerLimits, logger: Logger) {
        replies = .problem(problem)
        memory = AnswerMemory(limits.answerBytes)
        self.limits = limits
        deadlines = BodyDeadlines(limits.body)
        self.logger = logger
        isAllowed = { _ in true }
        databaseHeader = nil
    }

    init(
        control: any JobControl, limits: ServerLimits, stop: StopSignal, logger: Logger,
        isAllowed: @escaping ControlServer.PeerCheck
    ) {
        let answers = Answers(limits: limits, stop: stop)
        replies = .routes(RouteTable(control: control, answers: answers, limits: limits, stop: stop))
        memory = answers.memory
        self.limits = limits
        deadlines = BodyDeadlines(limits.body)
        self.logger = logger
        self.isAllowed = isAllowed
        databaseHeader = control.databasePath.map(DatabaseHeader.value)
    }

    /// - Returns: Whether the connection may carry another request.
    func respond(
        to request: Request, from peer: PeerCredentials, closed: StopSignal, refusal: ControlProblem?,
        writer: consuming ResponseWriter, channel: any Channel
    ) async throws -> Bool {
        let body = BodyReader(
            request, on: channel, limit: limits.body, deadlines: deadlines, bigBodies: bigBodies)
        let refusal = refusal ?? self.refusal ?? (isAllowed(peer) ? nil : Self.refusal(of: peer))
        if refusal == nil, request.headers[.expect]?.lowercased() == "100-continue" {
            try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        var response =
            if let refusal { refusal.response } else {
                await self.response(
                    to: request,
                    in: ControlContext(body: body, closed: closed, user: peer.uid, channel: channel))
            }
        if refusal == nil { response.headers[.halyardDatabase] = databaseHeader }
        body.releasePermit()
        if !body.hasEnded, !body.isReadWithAnswer { response.headers[.connection] = "close" }
        if request.method == .head { response = response.createHeadResponse() }
        let room = takeRoom(for: &response, to: peer, channel)
        defer {
            room?.release()
            if room != nil, (response.body.contentLength ?? 0) > Self.largeBytes { FreedMemory.returnToSystemSoon() }
        }
        logger.debug(
            "request",
            metadata: [
                "method": "\(request.method)", "path": "\(request.uri.path)", "status": "\(response.status.code)",
                "uid": "\(peer.uid)", "pid": "\(peer.pid)",
            ])
        try await writer.write(response: response.head, body: response.body)
        if body.hasEnded, refusal == nil { return true }
        // Some peers read the answer only after they have sent their whole request. So for up to
        // ``ServerLimits/linger`` the rest is read and discarded; closing the connection at once would destroy
        // the answer.
        try await channel.close(mode: .output)
        return false
    }

    private var refusal: ControlProblem? {
        if case .problem(let problem) = replies { problem } else { nil }
    }

    private static func refusal(of peer: PeerCredentials) -> ControlProblem {
        ControlProblem(
            .permission, "User \(peer.uid) may not use this socket.")
    }

    /// Reserves memory for an answer of known length; if there is none, replaces it with a refusal.
    private func takeRoom(
        for response: inout Response, to peer: PeerCredentials, _ channel: any Channel
    ) -> AnswerMemory.Hold? {
        guard let length = response.body.contentLength, length > AnswerMemory.freeBytes else { return nil }
        guard let room = memory.take(length, for: peer.uid) else {
            let connection = response.headers[.connection]
            response = AnswerMemory.full.response
            response.headers[.connection] = connection
            return nil
        }
        response = response.paced(on: channel, limit: limits.reading)
        return room
    }

    private static let largeBytes = 64 << 10

    private func response(to request: Request, in context: ControlContext) async -> Response {
        if request.isBrief { return await reply(to: request, in: context) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { await reply(to: request, in: context) }
    }

    private func reply(to request: Request, in context: ControlContext) async -> Response {
        guard case .routes(let routes) = replies else { return ControlProblem.stopping.response }
        do {
            return try await routes.respond(to: request, in: context)
        } catch let problem as ControlProblem {
            return problem.response
        } catch is CancellationError {
            return ControlProblem.stopping.response
        } catch {
            logger.error("a request failed: \(error)", metadata: ["path": "\(request.uri.path)"])
            return ControlProblem(.internal, "The request failed because of a bug in Halyard. Please report it.")
                .response
        }
    }
}

extension Request {
    /// Whether the connection's event loop may carry out the request, because it only reads or enqueues little.
    /// Routes that read much or plan many jobs choose another executor themselves.
    fileprivate var isBrief: Bool {
        switch method {
        case .get, .head: true
        case .post:
            uri.path == "/v1/jobs" && headers[.contentLength].flatMap { Int($0) }.map { $0 <= 16 << 10 } ?? false
        default: false
        }
    }
}

extension HTTPField.Name {
    static let halyardDatabase = HTTPField.Name(DatabaseHeader.name)!
}
