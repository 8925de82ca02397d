import HalyardClient
import Testing

/// What a Swift program does through the socket of the real daemon.
@Suite struct SwiftProgramTests {
    /// The built-in kind, as a program without its code declares it.
    private enum Unfurl: KindSignature {
        struct Input: Codable, Sendable { var url: String }
        struct Output: Codable, Sendable { var final_url: String }
        typealias Accepted = Link
        typealias Offered = Link
        static let name = "unfurl"
    }

    /// A signature that does not fit the kind.
    private enum Misread: KindSignature {
        struct Input: Codable, Sendable { var url: String }
        struct Output: Codable, Sendable { var isHappy: Bool }
        static let name = "unfurl"
    }

    @Test(.timeLimit(.minutes(1)))
    func aTypedGraphIsEnqueuedAndItsResultsRead() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            let daemon = DaemonClient(socket: bed.socket)
            var graph = JobGraph(name: "save")
            let link = graph.add(Unfurl.self, input: .init(url: bed.server.site + "/page"))
            let page = graph.add(Unfurl.self, from: link)
            graph[link].definition = "visit"
            graph[page].definition = "visit"
            #expect(page.job == nil)
            let accepted = try await daemon.enqueue(graph, key: "once")
            #expect(accepted.jobs == [link.job, page.job])
            #expect(try await daemon.result(of: page).final_url == bed.server.site + "/page")
            #expect(try await daemon.enqueue(graph, key: "once") == accepted)
            let job = try #require(page.job)
            let error = await #expect(throws: DaemonClientError.self) {
                _ = try await daemon.result(of: job, as: Misread.self)
            }
            #expect(
                error?.description
                    == "the output of job \(job) does not fit the signature of the kind unfurl: the field \"isHappy\" is missing; compare the signature with halyard result \(job)"
            )
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func everyFailureIsDescribed() async throws {
        let bed = try TestBed()
        let daemon = DaemonClient(socket: bed.socket)
        try await bed.withDaemon { _ in
            let refused = await #expect(throws: DaemonClientError.self) {
                try await daemon.enqueue(Unfurl.self, definition: "nothing", input: .init(url: "https://example.com"))
            }
            #expect(refused?.description.contains("nothing") == true)

            var graph = JobGraph()
            let gone = graph.add(Unfurl.self, input: .init(url: bed.server.site + "/nowhere"))
            graph[gone].definition = "visit"
            let early = await #expect(throws: DaemonClientError.self) { _ = try await daemon.result(of: gone) }
            #expect(early == .notEnqueued(node: "unfurl"))
            graph[gone].startAt = Timestamp(milliseconds: 4_000_000_000_000)
            try await daemon.enqueue(graph)
            let job = try #require(gone.job)
            let late = await #expect(throws: DaemonClientError.self) {
                _ = try await daemon.result(of: gone, waiting: .milliseconds(1))
            }
            #expect(late == .stillRunning(job))
            _ = try await daemon.control.cancel(.jobs([job]))
            let ended = await #expect(throws: DaemonClientError.self) { _ = try await daemon.result(of: gone) }
            #expect(ended?.description.hasPrefix("job \(job) ended as cancelled with cancelled: ") == true)
        }
        let absent = await #expect(throws: DaemonClientError.self) {
            try await daemon.enqueue(Unfurl.self, definition: "visit", input: .init(url: "https://example.com"))
        }
        #expect(absent?.description.contains(bed.socket) == true)
    }

    @Test(.timeLimit(.minutes(1)))
    func waitForAResultOutlivesTheDaemon() async throws {
        let bed = try TestBed()
        let daemon = DaemonClient(socket: bed.socket)
        let waiting = try await bed.withDaemon { _ in
            _ = try await daemon.control.change(QueueChange(name: "network", isPaused: true))
            let node = try await daemon.enqueue(
                Unfurl.self, definition: "visit", input: .init(url: bed.server.site + "/page"))
            return Task { try await daemon.result(of: node) }
        }
        let url = try await bed.withDaemon { _ in
            _ = try await daemon.control.change(QueueChange(name: "network", isPaused: false))
            return try await waiting.value.final_url
        }
        #expect(url == bed.server.site + "/page")
    }
}
