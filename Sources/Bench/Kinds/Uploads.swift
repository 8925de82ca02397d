import Foundation
import Programs

/// Measures upload jobs through the daemon and `curl -T`, alternately, to the same nginx, with and without TLS:
/// bytes per second, CPU time, and the daemon's memory for different file sizes.
///
/// Each turn sends a file of 256 MiB four times. The server writes each file to newly allocated memory. With
/// larger files, a virtual machine that returns free memory to its host would do so between the turns, and
/// allocating the memory again would cost the server more than the whole upload.
func measureUploads(to server: Nginx) async throws -> [Row] {
    let scratch = try Scratch(in: "/dev/shm")
    let bench = UploadBench(server: server, folder: scratch.path)
    let (small, middle, large) = (scratch.file("64MiB"), scratch.file("256MiB"), scratch.file("1GiB"))
    try makeFile(small, mebibytes: 64)
    try makeFile(middle, mebibytes: 256)
    // Without TLS, the digest alone takes about twice the CPU time that curl needs for sending.
    var rows = try await bench.compare(middle, at: server.origin, name: "upload jobs", timesCurl: nil)
    rows += try await bench.compare(middle, at: server.tlsOrigin, name: "upload jobs over TLS", timesCurl: 2)
    try makeFile(large, mebibytes: 1024)
    let peaks = [try await bench.peakMegabytes(small), try await bench.peakMegabytes(large)]
    rows.append(
        Row("peak memory of the daemon, 1 GiB against 64 MiB", peaks[1], to: peaks[0], "MB", ratio: .atMost(1.25)))
    return rows
}

private struct UploadBench {
    let server: Nginx
    let folder: String

    private static let copies = 4

    private func withDaemon<Value>(_ body: (UploadDaemon) async throws -> Value) async throws -> Value {
        let scratch = try Scratch()
        let daemon = try DaemonProcess(
            in: scratch.path,
            definitions: "queues: {send: {limit: 1}}\ndefinitions: {send: {kind: upload, queue: send}}\n",
            settings: [
                "HALYARD_NETWORK_ALLOW": "localhost,127.0.0.1", "HALYARD_NETWORK_AUTHORITIES": server.certificate,
                "HALYARD_UPLOAD_ROOTS": folder,
            ])
        defer { daemon.stop() }
        return try await body(UploadDaemon(daemon: daemon))
    }

    /// - Parameter timesCurl: The limit for the CPU time, as a multiple of curl's; nil for no limit.
    func compare(_ file: String, at site: String, name: String, timesCurl: Double?) async throws -> [Row] {
        let addresses = [String](repeating: site + "/inbox/turn", count: Self.copies)
        let curl =
            ["--silent", "--fail", "--http1.1", "--cacert", server.certificate]
            + addresses.flatMap { ["--upload-file", file, $0] }
        let digest = ["dgst", "-sha256"] + addresses.map { _ in file }
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        let megabytes = Double(size * Self.copies) / 1_000_000
        let figures = try await withDaemon { daemon in
            // A first upload warms up memory and connections.
            try daemon.send(file, to: [site + "/inbox/turn"])
            return try await medians(ofRounds: 11) {
                let before = try daemon.processorSeconds()
                let start = ContinuousClock.now
                try daemon.send(file, to: addresses)
                let milliseconds = start.milliseconds
                let processor = try daemon.processorSeconds() - before
                let curl = try Program.cost("/usr/bin/curl", curl)
                let digestSeconds = try Program.cost("/usr/bin/openssl", digest).cpuMilliseconds / 1000
                return [
                    1000 * megabytes / milliseconds, 1000 * megabytes / curl.milliseconds, processor,
                    curl.cpuMilliseconds / 1000, digestSeconds,
                ]
            }
        }
        let (processor, curlsProcessor, digests) = (figures[2], figures[3], figures[4])
        return [
            Row("\(name), against curl -T", figures[0], to: figures[1], "MB/s", ratio: .atLeast(0.95)),
            // A receipt contains the SHA-256 of the content, which curl does not compute.
            Row(
                "\(name), processor time against curl and openssl dgst -sha256", processor,
                to: curlsProcessor + digests, "s/GiB", ratio: .atMost(1.1)),
            Row(
                "openssl dgst -sha256 of the same file, processor time against curl", digests,
                to: curlsProcessor, "s/GiB", ratio: nil),
            Row(
                "\(name), processor time against curl, which takes no digest", processor,
                to: curlsProcessor, "s/GiB", ratio: timesCurl.map { .atMost($0) }),
        ]
    }

    /// The daemon's peak memory after three uploads of the file.
    func peakMegabytes(_ file: String) async throws -> Double {
        try await withDaemon { daemon in
            for _ in 0..<3 { try daemon.send(file, to: [server.origin + "/inbox/one"]) }
            return try daemon.peakMegabytes()
        }
    }
}

/// A daemon, and the number of jobs enqueued so far. Job numbers are consecutive, and nobody else enqueues.
private final class UploadDaemon {
    private let daemon: DaemonProcess
    private var jobs = 0

    init(daemon: DaemonProcess) { self.daemon = daemon }

    /// Enqueues an upload to each address, and waits until all have succeeded.
    func send(_ file: String, to addresses: [String]) throws {
        try daemon.enqueue(addresses.map { #"{"definition":"send","input":{"file":"\#(file)","to":"\#($0)"}}"# })
        let numbers = (jobs + 1...jobs + addresses.count).map(String.init)
        jobs += addresses.count
        _ = try Program.milliseconds(
            Program.sibling("halyard"), ["wait"] + numbers, environment: daemon.environment)
    }

    /// Returns the CPU time that the daemon and its workers have used so far.
    func processorSeconds() throws -> Double { try daemon.cpuMilliseconds() / 1000 }

    func peakMegabytes() throws -> Double { try daemon.peakMegabytes() }
}

private func makeFile(_ path: String, mebibytes: Int) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
    else { throw BenchError("cannot write \(path)") }
    var state: UInt64 = 7
    for _ in 0..<mebibytes {
        var block = [UInt64](repeating: 0, count: 1 << 17)
        for index in block.indices {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            block[index] = state
        }
        try block.withUnsafeBytes { try file.write(contentsOf: Data($0)) }
    }
    try file.close()
}
