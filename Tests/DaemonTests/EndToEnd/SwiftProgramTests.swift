import Client
import ControlProtocol
import Jobs
import Kinds
import Testing

/// What a Swift program does through the socket of the real daemon.
@Suite struct SwiftProgramTests {
    @Test(.timeLimit(.minutes(1)))
    func aTypedGraphIsEnqueuedAndItsResultsRead() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            let daemon = SocketControl(path: bed.socket)
            var graph = JobGraph(name: "save")
            let link = graph.add(Unfurl.self, input: .init(url: bed.server.site + "/page"))
            let page = graph.add(Unfurl.self, from: link)
            graph[link].definition = "visit"
            graph[page].definition = "visit"
            let accepted = try await daemon.enqueue(graph.submission())
            #expect(accepted.jobs.count == 2)
            for job in accepted.jobs {
                let result = try #require(try await daemon.result(job, waiting: .seconds(30)))
                #expect(result.outcome == .succeeded, "\(result)")
            }
        }
    }
}
