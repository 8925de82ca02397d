import Foundation
import Glibc
import Programs
import Testing

/// The daemon or its worker is killed at each step between a server's last answer and the end of the job: nothing is sent
/// again, and the server has no second upload.
@Suite(
    .enabled(if: UploadServer.isInstalled, "the servers from PyPI are not installed (scripts/test.d/servers)"),
    .enabled("no process can be traced here", { await canTrace() }), .serialized)
struct UploadCommitTests {
    /// The system call at whose entry the process that makes it is killed.
    enum Step: String, CaseIterable {
        /// No system call: the daemon is killed right after the answer was sent, whatever it is doing.
        case answer
        case checkpointOpened, checkpointRenamed, logWritten, logSynced, checkpointRemoved

        var calls: String {
            switch self {
            case .answer: ""
            case .checkpointOpened: "openat"
            case .checkpointRenamed: "rename,renameat,renameat2"
            case .logWritten: "pwrite64"
            case .logSynced: "fdatasync"
            case .checkpointRemoved: "unlink,unlinkat"
            }
        }

        /// Whether the call is made by the worker, which keeps the checkpoints.
        var isOfWorker: Bool { self == .checkpointOpened || self == .checkpointRenamed || self == .checkpointRemoved }

        func file(_ bed: TestBed, _ job: Int) -> String {
            switch self {
            case .logWritten, .logSynced: bed.database + "-wal"
            case .checkpointRemoved: bed.folder.path + "/uploads/upload-\(job).json"
            default: bed.folder.path + "/uploads/upload-\(job).json.new"
            }
        }
    }

    enum Style: String, CaseIterable, CustomTestStringConvertible {
        case put, post, tus, resumable, s3, s3InParts

        var testDescription: String { rawValue }

        var server: String {
            switch self {
            case .put, .post: "plain"
            case .tus, .resumable: rawValue
            case .s3, .s3InParts: "s3"
            }
        }
        var size: Int { self == .s3InParts ? (11 << 20) + 77 : (2 << 20) + 77 }

        /// Whether nothing may be sent again. If the server cannot be asked about a request, only a recorded answer
        /// counts.
        func isCertain(at step: Step) -> Bool {
            switch self {
            case .put, .post: step != .answer && step != .checkpointOpened && step != .checkpointRenamed
            default: true
            }
        }

        func input(_ port: String, _ job: Int) -> [String] {
            let site = "http://127.0.0.1:\(port)"
            return switch self {
            case .put: ["to=\(site)/inbox/\(job)"]
            case .post: ["to=\(site)/inbox", "method=POST"]
            case .tus, .resumable: ["to=\(site)/files/", "protocol=\(rawValue)"]
            case .s3, .s3InParts: ["to=\(site)/bucket/key\(job)", "protocol=s3", "credential=store"]
            }
        }

        /// The number of content bytes in a line that the server prints for a request.
        func content(_ line: String) -> Int {
            let words = line.split(separator: " ")
            guard words.count == 3, let bytes = Int(words[2]) else { return 0 }
            return switch self {
            case .put, .s3, .s3InParts: words[0] == "PUT" ? bytes : 0
            case .post: words[0] == "POST" ? bytes : 0
            case .tus, .resumable: words[0] == "PATCH" ? bytes : 0
            }
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: Style.allCases)
    func nothingIsSentAgainAfterTheLastAnswer(style: Style) async throws {
        let bed = try TestBed()
        let stored = bed.folder.path + "/stored"
        let checkpoints = bed.folder.path + "/uploads"
        for folder in [stored, checkpoints] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        #expect(mkfifo(bed.folder.path + "/release", 0o600) == 0)
        let (server, port) = try await UploadServer.start(style.server, storing: stored, in: bed)
        let (source, _) = try bed.uploadSource(style.size)
        try bed.folder.write("AKIDEXAMPLE:secret", to: "store")
        try bed.configure(
            """
            upload:
              roots: [\(bed.folder.path)]
              credentials: \(bed.folder.path)
              credential_origins: ['store=http://127.0.0.1:\(port)']
              chunk_size: 5MiB
              part_size: 5MiB
            """, allow: ["127.0.0.1:\(port)"])
        if style.server == "s3" {
            let bucket = ["-sf", "-X", "PUT", "http://127.0.0.1:\(port)/bucket"]
            #expect(try await ChildProcess.run("curl", bucket).status == .exited(0))
        }
        for (index, step) in Step.allCases.enumerated() {
            let job = index + 1
            let from = server.output.all.count
            try bed.folder.write("", to: "hold")
            try await bed.withDaemon { daemon in
                let fields = (["file=\(source)"] + style.input(port, job)).flatMap { ["--set", $0] }
                let enqueued = try await ChildProcess.run(
                    binary("halyard"), ["enqueue", "send"] + fields, environment: ["HALYARD_SOCKET": bed.socket])
                try #require(enqueued.status == .exited(0), "\(enqueued.errors)")
                try #require(await server.output.first(from: from) { $0 == "held" } != nil)
                #expect(unlink(bed.folder.path + "/hold") == 0)
                var tracer: ChildProcess?
                if step != .answer {
                    let worker = try await ChildProcess.run("pgrep", ["-P", "\(daemon.pid)", "-x", "halyard-worker"])
                    let pid = step.isOfWorker ? worker.output : "\(daemon.pid)"
                    let strace = try bed.spawn(
                        "strace",
                        [
                            "-f", "-o", "/dev/null", "-p", pid, "-P", step.file(bed, job), "-e",
                            "trace=\(step.calls)", "-e", "inject=\(step.calls):signal=SIGKILL",
                        ])
                    try #require(await strace.errors.first(containing: "attached") != nil)
                    tracer = strace
                }
                try await ChildProcess.run("sh", ["-c", "echo >'\(bed.folder.path)/release'"])
                // The tracer ends with the process that it traces.
                if step.isOfWorker { _ = await tracer?.waitForEnd() }
                if step == .answer || step.isOfWorker { daemon.signal(SIGKILL) }
                #expect(await daemon.waitForEnd() == .killed(by: SIGKILL), "\(style) \(step)")
            }
            // The result is the same whether the commit was durable or not; the next start removes leftovers.
            let watch = try FolderWatch(checkpoints)
            try await bed.withDaemon { _ in
                try await bed.waitForAllJobs()
                #expect(try await bed.ask("SELECT state FROM jobs WHERE job = \(job)") == "succeeded")
                #expect(
                    try await bed.ask("SELECT value ->> 'bytes' FROM results WHERE job = \(job)") == "\(style.size)")
                try await watch.waitUntilEmpty()
            }
            let lines = server.output.all[from...]
            let sent = lines.reduce(0) { $0 + style.content($1) }
            if style.isCertain(at: step) {
                #expect(sent == style.size, "\(style) \(step): \(lines)")
            } else {
                // Each death may cost one repetition. The daemon may start another worker before it is killed itself.
                let deaths = step.isOfWorker ? 2 : 1
                #expect(
                    sent % style.size == 0 && (1...1 + deaths).contains(sent / style.size),
                    "\(style) \(step): \(lines)")
            }
            if style == .tus || style == .resumable {
                let uploads = try FileManager.default.contentsOfDirectory(atPath: stored).filter { !$0.contains(".") }
                #expect(uploads.count == job, "\(style) \(step)")
            }
        }
        server.signal(SIGKILL)
    }
}
