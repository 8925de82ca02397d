import Foundation
import Programs
import Testing

/// One call of a start that opens a file fails because too many are open, wherever that happens: in Halyard, in SwiftNIO or
/// libdispatch, which trap, or in the system's libraries. The daemon starts all the same, or ends with a status and a reason.
///
/// `HALYARD_SWEEP=all swift test --filter DescriptorSweepTests` tries every call of a start.
@Suite(.serialized) struct DescriptorSweepTests {
    private static let isWhole = ProcessInfo.processInfo.environment["HALYARD_SWEEP"] == "all"

    /// The short form: the calls of the libraries that trap.
    private static let few = [
        "epoll_create1 1", "eventfd2 1", "timerfd_create 1", "socket 1", "socketpair 1", "pipe2 1",
    ]
    private static let calls = [
        "epoll_create1", "eventfd2", "timerfd_create", "socket", "socketpair", "pipe2", "inotify_init1", "dup",
        "signalfd4", "accept4", "memfd_create", "openat",
    ]

    @Test(.timeLimit(.minutes(isWhole ? 60 : 4)))
    func startThatCannotOpenAFileIsNotASignal() async throws {
        // Without the permission to trace there is nothing to try.
        guard await canTrace() else { return }
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

    /// - Returns: Whether a call was made to fail.
    private func start(failing call: String, number: Int) async throws -> Bool {
        let bed = try TestBed()
        let trace = bed.folder.path + "/trace"
        let heard = bed.notifications.heard
        // With -D the tracer stands aside: the process is the daemon.
        let daemon = try bed.spawn(
            "strace",
            [
                "-D", "-f", "-qq", "-o", trace, "-e", "trace=\(call)", "-e",
                "inject=\(call):error=EMFILE:when=\(number)", binary("halyardd"), "--config", bed.configuration,
            ], environment: ["NOTIFY_SOCKET": bed.notifications.address, "SWIFT_BACKTRACE": "enable=no"])
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
