import NIOHTTP1
import OperationTypes
import Synchronization
import WebSyntax

/// The interim responses (1xx) to one request: 100 means that the server wants the body, and 104 says where to resume
/// an upload.
package final class InterimAnswers: Sendable {
    /// Opens when the server wants the body or has sent its final response.
    private let decision = Latch<Void>()
    private let lastUpload = Mutex<HTTPHeaders?>(nil)

    package init() {}

    /// The headers of the last 104 response (Upload Resumption Supported) that had a `Location`. Only the last one is
    /// kept, and only the headers that are needed, since a server may send any number of such responses.
    package var upload: HTTPHeaders? { lastUpload.withLock(\.self) }

    /// Must be called with every head that arrives, including the final one.
    func hear(_ head: HTTPResponseHead) {
        switch head.status.code {
        case 100, 200...: decision.open()
        case 104: lastUpload.withLock { $0 = Self.place(in: head.headers) ?? $0 }
        default: break
        }
    }

    /// Waits until the server wants the body or sends its final response, but at most for `limit`, since many servers
    /// never ask for the body.
    ///
    /// - Returns: False if the server sent neither within the limit.
    package func waitUntilWanted(atMost limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.decision.wait()
                return true
            }
            group.addTask {
                // Cancelled when the server has responded. The result is not used then.
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
}
