import Foundation
import Programs
import Testing

/// One call of a start that opens a file fails because too many are open, wherever that happens: in Halyard, in SwiftNIO or
/// libdispatch, which trap, or in the system's libraries. The daemon starts all the same, or ends with a status and a reason.
///
/// `HALYARD_SWEEP=all swift test --filter DescriptorSweepTests` tries every call of a start.
@Suite(.serialized, .enabled("no process can be traced here", { await canTrace() }))
struct DescriptorSweepTests {
    private static let isWhole = ProcessInfo.processInfo.environment["HALYARD_SWEEP"] == "all"

    /// The short form: the calls of the libraries that trap.
    private static let few = [
        "epoll_create1 1", "eventfd2 1", "timerfd_create 1", "socket 1", "socketpair 1", "pipe2 1", "signalfd4 1",
        "memfd_create 1",
    ]
    private static let calls = [
        "epoll_create1", "eventfd2", "timerfd_create", "socket", "socketpair", "pipe2", "inotify_init1", "dup",
        "signalfd4", "accept4", "memfd_create", "openat",
    ]

    @Test(.timeLimit(.minutes(isWhole ? 60 : 4)))
    func startThatCannotOpenAFileIsNotASignal() async throws {
        if Self.isWhole {
            for call in Self.calls {
                var number = 1
                while try await start(failing: call, number: number) { number += 1 }
                print("\(call): tried \(number - 1)")
            }
        } else {
            for place in Self.few {
                let words = place.split(separator: " ")
                _ = try await start(failing: String(words[0]), number: Int(words[1]) ?? 1)
            }
        }
    }

    /// From the moment the daemon is ready, every such call fails until one has failed for a caller. The daemon then serves
    /// that caller, or has ended with a status and a reason.
    @Test(
        .timeLimit(.minutes(4)),
        arguments: ["accept4", "openat", "memfd_create", "signalfd4", "socket", "eventfd2", "epoll_create1"],
        ["EMFILE", "ENFILE"])
    func callThatFailsWhileRunningIsNotASignal(call: String, error: String) async throws {
        let bed = try TestBed()
        let from = bed.notifications.heard.all.count
        let daemon = try bed.launch()
        try await bed.waitUntilReady(daemon, from: from)
        let tracer = try bed.spawn(
            "strace",
            [
                "-f", "-p", "\(daemon.pid)", "-e", "trace=\(call)", "-e", "inject=\(call):error=\(error):when=1+",
            ])
        _ = await tracer.errors.first { $0.contains("attached") }
        let caller = try bed.spawn(
            binary("halyard"), ["enqueue", "visit", "\(bed.server.site)/page/1"],
            environment: ["HALYARD_SOCKET": bed.socket, "TZ": "UTC"])
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await tracer.errors.first { $0.contains("(INJECTED)") } }
            // The call may not be made for this caller at all.
            group.addTask { _ = await caller.waitForEnd() }
            await group.next()
            group.cancelAll()
        }
        tracer.signal(SIGINT)
        _ = await tracer.waitForEnd()
        _ = await caller.waitForEnd()
        let status = try await bed.halyard("status")
        if status.status == .exited(0) {
            daemon.signal(SIGTERM)
            let end = await daemon.waitForEnd()
            #expect(end == .exited(0), "\(String(describing: end)); \(daemon.errors.text)")
        } else {
            let end = await daemon.waitForEnd()
            #expect(end == .exited(74), "\(String(describing: end)); \(status); \(daemon.errors.text)")
            #expect(daemon.errors.text.contains("open"), "it ends without a reason: \(daemon.errors.text)")
        }
    }

    /// SQLite opens a file only for reading when it cannot open it for writing, which is not a lack of permission.
    @Test(.timeLimit(.minutes(4)), arguments: ["", "-new", "-wal", "-shm", "-lock"])
    func startThatCannotOpenAFileOfTheDatabaseMayBeRepeated(suffix: String) async throws {
        var number = 1
        while try await start(failing: "openat", number: number, ofDatabase: suffix) { number += 1 }
        #expect(number > 1)
    }

    /// - Parameter suffix: Of the file of the database whose calls are counted; nil for all calls.
    /// - Returns: Whether a call was made to fail.
    private func start(failing call: String, number: Int, ofDatabase suffix: String? = nil) async throws -> Bool {
        let bed = try TestBed()
        let path = suffix.map { ["-P", bed.database + $0] } ?? []
        let trace = bed.folder.path + "/trace"
        let heard = bed.notifications.heard
        // With -D the tracer stands aside: the process is the daemon.
        let daemon = try bed.spawn(
            "strace",
            [
                "-D", "-f", "-qq", "-o", trace, "-e", "trace=\(call)", "-e",
                "inject=\(call):error=EMFILE:when=\(number)",
            ] + path + [binary("halyardd"), "--config", bed.configuration],
            environment: ["NOTIFY_SOCKET": bed.notifications.address, "SWIFT_BACKTRACE": "enable=no"])
        let isReady = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await heard.first { $0 == "READY=1" } != nil }
            group.addTask {
                _ = await daemon.waitForEnd()
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        if isReady {
            await daemon.stop()
        } else {
            let end = await daemon.waitForEnd()
            let words = daemon.errors.text
            // 127: the dynamic linker of a debug build finds no library. A release is one file.
            let isReasonable = [73, 74, 75, 127].contains { end == .exited($0) }
            #expect(isReasonable, "\(call) \(number): \(String(describing: end)); \(words)")
            #expect(words.contains("halyardd") || words.contains("ile"), "\(call) \(number) ends without a reason")
        }
        // Closed when the tracer has ended, too.
        _ = await daemon.errors.first { _ in false }
        return try String(contentsOfFile: trace, encoding: .utf8).contains("(INJECTED)")
    }
}
