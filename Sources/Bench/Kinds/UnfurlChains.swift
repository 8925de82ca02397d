import Client
import Control
import Foundation
import Jobs

/// Measures jobs that each follow a chain of five requests, 32 at once, through the daemon: enqueued by `halyard
/// enqueue --lines`, stored, run with the address check, logged, and their results stored. For comparison, `curl
/// --parallel --location` follows as many chains at the same nginx.
func measureUnfurl(at server: DavServer) async throws -> [Row] {
    let count = 4000
    let scratch = try Scratch(in: "/dev/shm")
    let daemon = try DaemonProcess(
        in: scratch.path,
        definitions: """
            queues:
              network: {limit: 32}
            definitions:
              unfurl: {kind: unfurl, queue: network, timeout: 90s, input: {read_page: false}}

            """, settings: ["HALYARD_NETWORK_ALLOW": "127.0.0.1:\(server.port)"])
    defer { daemon.stop() }
    let control = SocketControl(path: daemon.socket)
    var (ours, curls, ourCPU, curlCPU): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for round in 0..<5 {
        let links = (0..<count).map { "\(server.site)/1?n=\(round)-\($0)" }
        try links.map { #"{"definition":"unfurl","input":{"url":"\#($0)"}}"# + "\n" }.joined()
            .write(toFile: scratch.file("lines"), atomically: true, encoding: .utf8)
        let before = try Program.cpuMilliseconds(of: daemon.pid)
        let start = ContinuousClock.now
        _ = try Program.milliseconds(
            Program.sibling("halyard"), ["enqueue", "--lines", scratch.file("lines")], environment: daemon.environment)
        while true {
            let counts = try await control.status().counts
            guard counts[.failed] == 0 else { throw BenchError("\(counts[.failed]) chains failed") }
            if counts[.succeeded] == Int64(count * (round + 1)) { break }
            try await Task.sleep(for: .milliseconds(25))
        }
        ours.append(Double(count) / ((ContinuousClock.now - start) / .seconds(1)))
        ourCPU.append((try Program.cpuMilliseconds(of: daemon.pid) - before) / Double(count))

        try links.map { "url = \"\($0)\"\noutput = \"/dev/null\"\n" }.joined()
            .write(toFile: scratch.file("curl"), atomically: true, encoding: .utf8)
        let cost = try Program.cost(
            "/usr/bin/curl",
            [
                "--silent", "--location", "--fail", "--parallel", "--parallel-max", "32", "--config",
                scratch.file("curl"),
            ])
        curls.append(Double(count) / cost.milliseconds * 1000)
        curlCPU.append(cost.cpuMilliseconds / Double(count))
    }
    // Makes sure that no chain came from the cache of answers.
    let sample = try Program.output(
        "/usr/bin/sqlite3", [scratch.file("halyard.db"), "SELECT min(json_array_length(value, '$.hops')) FROM results"])
    guard sample == "5" else { throw BenchError("a chain had \(sample) hops instead of 5") }
    let (rate, cpu) = (ours.median / curls.median, ourCPU.median / curlCPU.median)
    return [
        Row(
            name: "unfurl jobs, 5 hops, 32 at once, against curl -Z -L", ratio: rate, ours: ours.median,
            baseline: curls.median, unit: "chains/s", limit: "≥ 2000/s", holds: ours.median >= 2000),
        Row(
            name: "CPU of such a job", ratio: cpu, ours: ourCPU.median, baseline: curlCPU.median, unit: "ms",
            limit: "≤ 0.5 ms", holds: ourCPU.median <= 0.5),
    ]
}
