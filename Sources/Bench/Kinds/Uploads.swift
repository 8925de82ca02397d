import Foundation
import Kinds
import OperationTypes

/// `upload` and `curl -T`, in turns, to the same nginx; and the memory that an upload takes, by the size of its file.
func measureUploads(to server: DavServer) async throws -> [Row] {
    let scratch = try Scratch(in: "/dev/shm")
    let (small, large) = (scratch.file("64MiB"), scratch.file("1GiB"))
    try makeFile(small, mebibytes: 64)
    try makeFile(large, mebibytes: 1024)

    var ours: [Double] = []
    var curls: [Double] = []
    let client = OutgoingClient(benchClient(server))
    var configuration = UploadConfiguration()
    configuration.roots = [scratch.path]
    let upload = Upload(client: client, configuration: configuration)
    let megabytes = Double(1 << 30) / 1_000_000
    for _ in 0..<7 {
        let start = ContinuousClock.now
        _ = try await upload.run(
            Upload.Input(file: large, to: server.site + "/inbox/ours"), context: OperationContext())
        ours.append(megabytes / ((ContinuousClock.now - start) / .seconds(1)))
        let milliseconds = try Program.milliseconds(
            "/usr/bin/curl", ["--silent", "--fail", "--upload-file", large, server.site + "/inbox/curls"])
        curls.append(megabytes / milliseconds * 1000)
    }
    await client.shutdown()
    let ratio = ours.median / curls.median

    var memory: [[Double]] = []
    for file in [small, large] {
        memory.append(
            try (0..<3).map { _ in try Program.own(["upload", file, server.site + "/inbox/one"]) })
    }
    let growth = memory[1].median / memory[0].median
    return [
        Row(
            name: "upload of 1 GiB, against curl -T", ratio: ratio, ours: ours.median, baseline: curls.median,
            unit: "MB/s", limit: "≥ 0.9", holds: ratio >= 0.9),
        Row(
            name: "peak memory, 1 GiB against 64 MiB", ratio: growth, ours: memory[1].median,
            baseline: memory[0].median, unit: "MB", limit: "≤ 1.25", holds: growth <= 1.25),
    ]
}

/// One upload, in a process of its own, which prints its peak of memory in megabytes.
func uploadOnce(_ file: String, to address: String) async throws {
    var outgoing = OutgoingConfiguration()
    outgoing.policy.allow = [AllowRule("127.0.0.1")].compactMap { $0 }
    let client = OutgoingClient(outgoing)
    var configuration = UploadConfiguration()
    configuration.roots = [URL(fileURLWithPath: file).deletingLastPathComponent().path]
    _ = try await Upload(client: client, configuration: configuration).run(
        Upload.Input(file: file, to: address), context: OperationContext())
    await client.shutdown()
    print(try Program.peakMegabytes())
}

func benchClient(_ server: DavServer) -> OutgoingConfiguration {
    var configuration = OutgoingConfiguration()
    configuration.policy.allow = [AllowRule("127.0.0.1:\(server.port)")].compactMap { $0 }
    return configuration
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
