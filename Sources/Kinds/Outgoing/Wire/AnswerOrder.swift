import NIOHTTP1

/// Checks that the parts of an answer arrive in an order that ``ExchangeHandler`` expects, whatever the server sends.
///
/// 1. A part passes only while a request is waiting for it.
/// 2. An answer is any number of heads from 100 to 199, then one head from 200 to 999, then body parts, then one end.
/// 3. 101 never passes: Halyard asks for no other protocol.
/// 4. After a refusal nothing more of this connection passes.
struct AnswerOrder {
    enum Verdict: Equatable {
        case pass
        /// The connection is useless already; the part has no reader.
        case drop
        case refuse(WireProblem)
    }

    private enum State {
        case idle
        /// A request is on its way; the number counts the heads from 100 to 199.
        case waiting(interim: Int)
        case receiving
        case refused
    }

    /// A server may report progress before the answer, but not without end.
    static let mostInterimHeads = 1000

    private var state = State.idle

    mutating func requestSent() {
        // I4
        if case .refused = state { return }
        state = .waiting(interim: 0)
    }

    mutating func judge(_ part: HTTPClientResponsePart) -> Verdict {
        switch (state, part) {
        case (.refused, _): return .drop
        case (.waiting(let count), .head(let head)): return judge(head, after: count)
        case (.receiving, .body): return .pass
        case (.receiving, .end):
            state = .idle
            return .pass
        // I1, I2
        case (.idle, _), (.waiting, .body), (.waiting, .end), (.receiving, .head): return refuse(.unexpectedPart)
        }
    }

    private mutating func judge(_ head: HTTPResponseHead, after count: Int) -> Verdict {
        switch head.status.code {
        case 100, 102...199:
            if count >= Self.mostInterimHeads { return refuse(.tooManyInterimHeads) }
            state = .waiting(interim: count + 1)
            return .pass
        // Browsers and curl accept statuses above 599, and well-known sites send them.
        case 200...999:
            state = .receiving
            return .pass
        // I3
        case let status: return refuse(.status(status))
        }
    }

    private mutating func refuse(_ problem: WireProblem) -> Verdict {
        state = .refused
        return .refuse(problem)
    }
}

/// Why an answer is refused.
enum WireProblem: Error, Equatable {
    /// Below 100, or 101.
    case status(UInt)
    case tooManyInterimHeads
    /// A head, body or end at a point where HTTP has none.
    case unexpectedPart
}

extension KindFailure {
    init(_ problem: WireProblem, at url: WebURL) {
        switch problem {
        case .status(let code):
            let status = "\(code)"
            let padded = String(repeating: "0", count: max(0, 3 - status.utf8.count)) + status
            let fact =
                code == 101
                ? "a change of protocol (101) that was not asked for" : "status \(padded), which HTTP does not have"
            self = .protocolError(url, "the server answered with \(fact)", status: Int(code))
        case .tooManyInterimHeads:
            self = .protocolError(
                url, "the server sent more than \(AnswerOrder.mostInterimHeads) interim answers (1xx)")
        case .unexpectedPart:
            self = .protocolError(url, "the server sent data that belongs to no answer")
        }
    }

    static func protocolError(_ url: WebURL, _ fact: String, status: Int? = nil) -> KindFailure {
        KindFailure(
            .protocolError, "\(url.redacted): \(fact); check that the address leads to a web server.", status: status,
            url: url)
    }
}
