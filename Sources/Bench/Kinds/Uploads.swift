import Foundation
import Kinds
import OperationTypes

/// `upload` and `curl -T`, in turns, to the same nginx; and the memory that an upload takes, by the size of its file.
///
/// Each turn is a process of its own that sends a file of 256 MiB four times. The server's files are new memory: were
/// they larger, a virtual machine that gives free memory back to its host would do so between the turns, and taking it
/// again costs the server more than the whole upload.
func measureUploads(to server: DavServer) async throws -> [Row] {
    let scratch = try Scratch(in: "/dev/shm")
    let (small, middle, large) = (scratch.file("64MiB"), scratch.file("256MiB"), scratch.file("1GiB"))
    try makeFile(small, mebibytes: 64)
    try makeFile(middle, mebibytes: 256)

    let targets = (1...4).map { _ in server.site + "/inbox/turn" }
    let curl = targets.flatMap { ["--upload-file", middle, $0] }
    var ours: [Double] = []
    var curls: [Double] = []
    let megabytes = Double(1 << 30) / 1_000_000
    for _ in 0..<11 {
        ours.append(1000 * megabytes / (try Program.milliseconds(Program.own, ["upload", middle] + targets)))
        curls.append(1000 * megabytes / (try Program.milliseconds("/usr/bin/curl", ["--silent", "--fail"] + curl)))
    }
    let ratio = ours.median / curls.median

    try makeFile(large, mebibytes: 1024)
    var memory: [[Double]] = []
    for file in [small, large] {
        memory.append(
            try (0..<3).map { _ in try Program.number(["upload", file, server.site + "/inbox/one"]) })
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

/// Uploads of one file, one after the other, in a process of its own, which prints its peak of memory in megabytes.
func upload(_ file: String, to addresses: [String]) async throws {
    var outgoing = OutgoingConfiguration()
    outgoing.policy.allow = [AllowRule("127.0.0.1")].compactMap { $0 }
    let client = OutgoingClient(outgoing)
    var configuration = UploadConfiguration()
    configuration.roots = [URL(fileURLWithPath: file).deletingLastPathComponent().path]
    let upload = Upload(client: client, configuration: configuration)
    for address in addresses {
        _ = try await upload.run(Upload.Input(file: file, to: address), context: OperationContext())
    }
    await client.shutdown()
    print(try Program.peakMegabytes())
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
