import Client
import ControlProtocol
import Foundation
import Jobs
import Programs
import SQLite

/// Measures jobs that each follow a chain of five requests, 32 at once, through the daemon: enqueued by
/// `halyard enqueue --lines`, stored, run with the address check, logged, and their results stored. For
/// comparison, `curl --parallel --location` follows the same number of chains on the same nginx.
func measureUnfurl(at server: Nginx) async throws -> [Row] {
    let plain = try await UnfurlBench(server: server, readsPage: false).measure()
    let page = try await UnfurlBench(server: server, readsPage: true).measure()
    return [
        plain.rate("unfurl jobs, 5 hops, 32 at once, against curl -Z -L", atLeast: 0.5),
        plain.processor("processor time of such a job, against curl -Z -L", atMost: 3),
        page.rate("unfurl jobs that also fetch and read the final page, against curl -Z -L", atLeast: 0.25),
    ]
}

private struct UnfurlBench {
    let server: Nginx
    let readsPage: Bool

    private static let count = 4000

    struct Result {
        /// Chains per second.
        var rates: (ours: Double, curl: Double)
        /// Milliseconds of CPU time per chain, without the time of nginx, the command line and the sandboxes
        /// that read pages.
        var costs: (ours: Double, curl: Double)

        func rate(_ name: String, atLeast share: Double) -> Row {
            var row = Row(name, rates.ours, to: rates.curl, "chains/s", ratio: .atLeast(share))
            row.limit += ", ≥ 2000/s"
            row.holds = row.holds && rates.ours >= 2000
            return row
        }

        func processor(_ name: String, atMost share: Double) -> Row {
            Row(name, costs.ours, to: costs.curl, "ms", ratio: .atMost(share))
        }
    }

    func measure() async throws -> Result {
        let scratch = try Scratch(in: "/dev/shm")
        let daemon = try DaemonProcess(
            in: scratch.path,
            definitions: """
                queues:
                  network: {limit: 32}
                definitions:
                  unfurl: {kind: unfurl, queue: network, timeout: 90s, input: {read_page: \(readsPage)}}

                """, settings: ["HALYARD_NETWORK_ALLOW": "127.0.0.1:\(server.port)"])
        defer { daemon.stop() }
        var finished = 0
        let medians = try await medians(ofRounds: 5) {
            let links = (finished..<finished + Self.count).map { "\(server.origin)/\(readsPage ? "p1" : "1")?n=\($0)" }
            finished += Self.count
            let before = try daemon.cpuMilliseconds()
            let start = ContinuousClock.now
            try await run(links, daemon, finished: finished)
            let milliseconds = start.milliseconds
            let processor = try daemon.cpuMilliseconds() - before
            try links.map { "url = \"\($0)\"\noutput = \"/dev/null\"\n" }.joined()
                .write(toFile: scratch.file("curl"), atomically: true, encoding: .utf8)
            let curl = try Program.cost(
                "/usr/bin/curl",
                [
                    "--silent", "--location", "--fail", "--parallel", "--parallel-max", "32", "--config",
                    scratch.file("curl"),
                ])
            return [milliseconds, curl.milliseconds, processor, curl.cpuMilliseconds]
        }
        // Checks that no chain was answered from the cache.
        let connection = try Connection(path: scratch.file("halyard.db"), access: .readOnly)
        let query = try connection.prepare(
            "SELECT min(json_array_length(value, '$.hops')) || ' ' || count(json_extract(value, '$.title')) FROM results"
        )
        let sample = try query.step() ? query.string(0) : ""
        let titles = readsPage ? finished : 0
        guard sample == "5 \(titles)" else {
            throw BenchError("hops and titles of the chains: \(sample) in place of 5 \(titles)")
        }
        let each = medians.map { $0 / Double(Self.count) }
        return Result(rates: (1000 / each[0], 1000 / each[1]), costs: (each[2], each[3]))
    }

    /// Enqueues a job for each link, and waits until all have succeeded.
    private func run(_ links: [String], _ daemon: DaemonProcess, finished: Int) async throws {
        try daemon.enqueue(links.map { #"{"definition":"unfurl","input":{"url":"\#($0)"}}"# })
        let control = SocketControl(path: daemon.socket)
        while true {
            let counts = try await control.status().counts
            guard counts[.failed] == 0 else { throw BenchError("\(counts[.failed]) chains failed") }
            if counts[.succeeded] == Int64(finished) { return }
            try await Task.sleep(for: .milliseconds(25))
        }
    }
}
