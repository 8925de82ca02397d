import Foundation
import Kinds
import OperationTypes

/// Chains of five requests, 32 at once, beside one curl process that follows the same links one after the other.
func measureUnfurl(at server: DavServer) async throws -> Row {
    let count = 4000
    var outgoing = OutgoingConfiguration()
    outgoing.policy.allow = [AllowRule("127.0.0.1:\(server.port)")].compactMap { $0 }
    let client = OutgoingClient(outgoing)
    var configuration = UnfurlConfiguration()
    configuration.keeps = .zero
    let unfurl = Unfurl(client: client, configuration: configuration)
    var ours: [Double] = []
    var curls: [Double] = []
    for round in 0..<5 {
        let links = (0..<count).map { "\(server.site)/1?n=\(round)-\($0)" }
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Int.self) { group in
            var waiting = links[...]
            func add() {
                guard let link = waiting.popFirst() else { return }
                group.addTask {
                    try await unfurl.run(Unfurl.Input(url: link, readPage: false), context: OperationContext()).hops
                        .count
                }
            }
            for _ in 0..<32 { add() }
            while let hops = try await group.next() {
                guard hops == 5 else { throw BenchError("a chain had \(hops) hops in place of 5") }
                add()
            }
        }
        ours.append(Double(count) / ((ContinuousClock.now - start) / .seconds(1)))
        let milliseconds = try Program.milliseconds(
            "/usr/bin/curl", ["--silent", "--location", "--fail"] + links.prefix(1000))
        curls.append(1000 / milliseconds * 1000)
    }
    await client.shutdown()
    return Row(
        name: "unfurl, 5 hops, 32 at once, against curl", ratio: ours.median / curls.median, ours: ours.median,
        baseline: curls.median, unit: "chains/s", limit: "≥ 2000/s", holds: ours.median >= 2000)
}
