import Definitions
import Jobs
import OperationTypes
import Testing

@Suite struct DifferenceTests {
    private let upload = Definition(
        name: "upload", kind: "store", timeout: .seconds(30),
        input: JSONText(trusted: Array(#"{"to":"a","n":{"x":1}}"#.utf8)))
    private let chain = GraphDefinition(
        name: "chain",
        nodes: [
            .init(name: "a", definition: "upload"), .init(name: "b", definition: "upload", after: [.init(node: "a")]),
        ],
        parameters: [.init(name: "to", node: "a", field: "to")])

    private var current: DefinitionSet {
        DefinitionSet(
            queues: [QueueSettings(name: "default")],
            definitions: [
                StoredDefinition(
                    id: DefinitionID(1), revision: 1, definition: upload, updatedAt: Timestamp(milliseconds: 0))
            ],
            graphs: [
                StoredGraphDefinition(revision: 1, definition: chain, updatedAt: Timestamp(milliseconds: 0))
            ])
    }

    private func lines(_ change: DefinitionChange) -> [String] { current.differences(after: change).map(\.description) }

    @Test func newThingsAreAdded() {
        let change = DefinitionChange(
            queues: [QueueChange(name: "slow", limit: 2)], definitions: [Definition(name: "unfurl", kind: "find")],
            graphs: [GraphDefinition(name: "g", nodes: [])])
        #expect(lines(change) == ["+ queue slow", "+ definition unfurl", "+ graph g"])
    }

    @Test func sameThingsAreReportedAsUnchanged() {
        var same = upload
        same.input = JSONText(trusted: Array(#"{ "n": {"x": 1}, "to": "a" }"#.utf8))
        let change = DefinitionChange(
            queues: [QueueChange(name: "default", limit: 16)], definitions: [same], graphs: [chain])
        #expect(
            lines(change) == [
                "= queue default (unchanged)", "= definition upload (unchanged)", "= graph chain (unchanged)",
            ])
    }

    @Test func changedFieldsAreShownOldAndNew() {
        var new = upload
        new.timeout = .seconds(60)
        new.summary = "Sends a file: now"
        new.retry = .never
        new.priority = .high
        new.input = JSONText(trusted: Array(#"{"to":"b","n":{"x":2}}"#.utf8))
        #expect(
            lines(DefinitionChange(definitions: [new])) == [
                "~ definition upload: summary (none) → \"Sends a file: now\", priority normal → high, "
                    + "retry.tries 5 → 1, retry.delay exponential → none, retry.jitter full → none, "
                    + "retry.initial 1s → (none), retry.multiplier 2 → (none), retry.cap 5m → (none), "
                    + "timeout 30s → 1m, input.to a → b, input.n.x 1 → 2"
            ])
        #expect(
            lines(DefinitionChange(queues: [QueueChange(name: "default", limit: 4, weight: 2)])) == [
                "~ queue default: limit 16 → 4, weight 1 → 2"
            ])
        #expect(
            lines(DefinitionChange(queues: [QueueChange(name: "default", limitPerDaemon: .atMost(4))])) == [
                "~ queue default: limit_per_daemon none → 4"
            ])
        #expect(
            lines(DefinitionChange(queues: [QueueChange(name: "default", limitPerDaemon: .unlimited)])) == [
                "= queue default (unchanged)"
            ])
    }

    @Test func changedGraphIsShownNodeByNode() {
        var new = chain
        new.summary = "Twice"
        new.nodes[1].after = [.init(node: "c", condition: .finished)]
        new.nodes[0].input = JSONText(trusted: Array(#"{"to":"x"}"#.utf8))
        new.nodes.append(.init(name: "c", definition: "upload"))
        new.parameters = [.init(name: "target", node: "a", field: "to")]
        #expect(
            lines(DefinitionChange(graphs: [new])) == [
                "~ graph chain: summary (none) → Twice, parameter target added, parameter to removed, "
                    + "node a.input (none) → {to: x}, node b.after [a] → [c:finished], node c added"
            ])
        var turned = chain
        turned.nodes.reverse()
        #expect(lines(DefinitionChange(graphs: [turned])) == ["~ graph chain: order changed"])
        var fewer = chain
        fewer.nodes.removeLast()
        #expect(lines(DefinitionChange(graphs: [fewer])) == ["~ graph chain: node b removed"])
    }

    @Test func longValueIsCut() {
        var new = upload
        new.summary = String(repeating: "x", count: 200)
        #expect(
            lines(DefinitionChange(definitions: [new])) == [
                "~ definition upload: summary (none) → " + String(repeating: "x", count: 59) + "…"
            ])
    }

    @Test func removedThingsAreSaidLast() {
        #expect(
            lines(DefinitionChange(removals: ["chain", "upload", "unknown"])) == [
                "- graph chain", "- definition upload",
            ])
        let change = DefinitionChange(definitions: [Definition(name: "chain", kind: "store")], removals: ["chain"])
        #expect(lines(change) == ["+ definition chain"])
    }
}
