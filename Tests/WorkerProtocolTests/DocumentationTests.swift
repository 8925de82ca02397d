import Foundation
import Testing

/// Checks the page and the schema that authors of workers read.
@Suite struct DocumentationTests {
    private static let catalog = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/WorkerProtocol/WorkerProtocol.docc")
    private let schema: JSONSchema

    init() throws {
        var schema = try JSONSchema(file: Self.catalog.appending(path: "worker-protocol.schema.json"))
        schema.isStrict = true
        self.schema = schema
    }

    @Test func theSchemaDescribesEveryFieldOfEveryMessage() throws {
        for (_, json) in Golden.daemonMessages { #expect(try schema.problem(in: json, as: "daemon_message") == nil) }
        for (_, json) in Golden.workerMessages { #expect(try schema.problem(in: json, as: "worker_message") == nil) }
    }

    @Test(arguments: [
        #"{"type":"dance"}"#, #"{"type":"pong"}"#, #"{"type":"pong","id":"1"}"#,
        #"{"type":"succeeded","job":1,"attempt":1}"#,
        #"{"type":"started","attempts":[{"job":0,"attempt":1}]}"#,
        #"{"type":"failed","job":1,"attempt":1,"code":"c","message":"m","retryable":"yes"}"#,
        #"{"type":"kinds","protocol":1,"kinds":[{"name":"k","fields":[{"name":"f","shape":"text"}]}]}"#,
    ])
    func theSchemaRefusesWhatTheDaemonRefuses(_ json: String) throws {
        #expect(try schema.problem(in: json, as: "worker_message") != nil)
    }

    @Test func thePageShowsEveryMessage() throws {
        let page = try String(contentsOf: Self.catalog.appending(path: "WorkerProtocol.md"), encoding: .utf8)
        for json in Golden.daemonMessages.map(\.json) + Golden.workerMessages.map(\.json) {
            let type = try #require(json.split(separator: "\"").dropFirst(2).first { $0 != ":" })
            #expect(page.contains("`\(type)`"), "\(type)")
        }
    }

    @Test func theConversationOnThePageFitsTheSchema() throws {
        let page = try String(contentsOf: Self.catalog.appending(path: "WorkerProtocol.md"), encoding: .utf8)
        var count = 0
        for line in page.split(separator: "\n") {
            for (arrow, definition) in [("→ ", "daemon_message"), ("← ", "worker_message")] where line.hasPrefix(arrow)
            {
                #expect(try schema.problem(in: String(line.dropFirst(2)), as: definition) == nil, "\(line)")
                count += 1
            }
        }
        #expect(count > 8)
    }
}
