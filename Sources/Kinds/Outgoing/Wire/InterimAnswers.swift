import NIOHTTP1
import Synchronization

/// What a server says about one request before its answer: that it wants the body (100), where an upload will be (104).
final class InterimAnswers: Sendable {
    private struct State {
        /// The body is wanted, or the answer is there already.
        var isDecided = false
        var waiting: CheckedContinuation<Void, Never>?
        var upload: HTTPHeaders?
    }

    private let state = Mutex(State())

    /// What the last 104 (Upload Resumption Supported) with a place said of the upload. One is kept, and of it what is used:
    /// a server may send any number of them.
    var upload: HTTPHeaders? { state.withLock(\.upload) }

    /// Takes any head that arrives, the final one included.
    func hear(_ head: HTTPResponseHead) {
        switch head.status.code {
        case 100, 200...: decide()
        case 104: state.withLock { $0.upload = Self.place(in: head.headers) ?? $0.upload }
        default: break
        }
    }

    /// Waits until the server wants the body, for at most `limit`: many servers never say so.
    ///
    /// - Returns: Whether it said anything.
    func waitUntilWanted(atMost limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await withTaskCancellationHandler {
                    await self.decision()
                } onCancel: {
                    self.release()
                }
                return true
            }
            group.addTask {
                // Cancelled once the server has spoken; then nobody asks for this answer.
                try? await Task.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? true
        }
    }

    private static func place(in headers: HTTPHeaders) -> HTTPHeaders? {
        guard let location = headers["location"].first, location.utf8.count <= WebURL.maxBytes else { return nil }
        var kept: HTTPHeaders = ["location": location]
        kept.add(
            contentsOf: headers["upload-limit"].prefix(1).filter { $0.utf8.count <= 1024 }.map { ("upload-limit", $0) })
        return kept
    }

    private func decision() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isDecided || Task.isCancelled { return true }
                state.waiting = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func decide() {
        state.withLock { $0.isDecided = true }
        release()
    }

    private func release() {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }
}
