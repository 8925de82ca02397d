import Foundation
import Glibc
import Jobs
import OperationTypes
import Synchronization
import Testing

@testable import ProgramKind

/// Messages of programs on their notification socket.
@Suite struct NotifyTests {
    private func problem(_ text: String) -> String? {
        guard case .unreadable(let problem) = NotifySocket.messages(in: text).first else { return nil }
        return problem
    }

    @Test func numbersFrom0To1AndTextsAreRead() {
        let text =
            "READY=1\nX_PROGRESS=0.25\nSTATUS=a=b\nSTATUS=\n\nX_PROGRESS=0\nX_PROGRESS=1.0\nX_PROGRESS=5e-1\nX=\n"
        #expect(
            NotifySocket.messages(in: text) == [
                .progress(0.25), .status("a=b"), .status(""), .progress(0), .progress(1), .progress(0.5),
            ])
    }

    @Test(arguments: [
        "abc", "1.5", "nan", "-nan", "inf", "-0.1", "", " 0.5", "0.5 ", "0,5", "50%", "1e999", "0.5\r", "\u{FFFD}",
    ])
    func anythingElseIsNotANumber(_ value: String) {
        let shown = value.replacing("\r", with: "_").replacing("\u{FFFD}", with: "_")
        #expect(problem("X_PROGRESS=\(value)") == "\"X_PROGRESS=\(shown)\" is not a number from 0 to 1")
    }

    @Test func aLineWithoutAValueIsNotAnAssignment() {
        #expect(problem("X_PROGRESS 0.5") == "\"X_PROGRESS 0.5\" is not an assignment, such as X_PROGRESS=0.4")
    }

    @Test func theProblemIsShortAndHarmless() throws {
        let hostile = "X_PROGRESS=\u{1B}]0;owned\u{7}\u{9B}31m\u{202E}" + String(repeating: "9", count: 4000)
        let found = problem(hostile)
        let problem = try #require(found)
        #expect(problem.unicodeScalars.count < 120)
        #expect(problem.hasPrefix("\"X_PROGRESS=_]0;owned__31m_999"))
        #expect(problem.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
    }

    @Test func aMessageThatIsTooLongIsReported() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/notify-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // A folder that is left behind fills only the temporary folder.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let notify = try #require(NotifySocket(at: folder + "/socket"))
        #expect(notify.receive() == nil)
        for count in [4096, 4097] {
            try send("X_PROGRESS=1\nSTATUS=".padding(toLength: count, withPad: "s", startingAt: 0), to: notify.path)
        }
        #expect(notify.receive()?.first == .progress(1))
        #expect(notify.receive() == [.unreadable("a message has 4097 bytes; the limit is 4096")])
        #expect(notify.receive() == nil)
    }

    private func send(_ text: String, to path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(sent == bytes.count)
    }

    // MARK: In the log

    @Test(.enabled(if: access("/usr/bin/systemd-notify", X_OK) == 0))
    func theFirstUnreadableMessageIsInTheLog() async throws {
        let bench = try Bench()
        let script = """
            printf working >&2
            systemd-notify X_PROGRESS=abc; systemd-notify X_PROGRESS=1.5; systemd-notify X_PROGRESS=nan
            systemd-notify X_PROGRESS=0.5 --status=done
            """
        let attempt = try bench.start(Bench.script(script))
        #expect(await attempt.ended.uncancellableWait().output == "null")
        #expect(attempt.progress.withLock(\.self).map(\.completed) == [50])
        let log = try #require(bench.files.log(of: attempt)).text
        let line =
            "halyard: NOTIFY_SOCKET: \"X_PROGRESS=abc\" is not a number from 0 to 1; further invalid messages are silently ignored"
        // The socket and the pipe of the log are read in any order.
        #expect(
            ["working\n\(line)\nstatus: done\n", "\(line)\nstatus: done\nworking", "\(line)\nworking\nstatus: done\n"]
                .contains(log), "\(log)")
    }

    // MARK: Programs that do not end

    @Test(
        arguments: [HostedStop.cancelled, .timedOut(isForGood: true), .timedOut(isForGood: false), .interrupted],
        ["printf busy >&2", "echo busy >&2", "echo busy >&2; exec >&- 2>&-"])
    func theLogSaysThatAProgramIgnoredTheRequest(_ reason: HostedStop, output: String) async throws {
        let bench = try Bench()
        let attempt = try bench.start(Bench.script("trap '' TERM; \(output); while :; do sleep 1000; done"))
        await attempt.began.uncancellableWait()
        let log = try #require(bench.files.log(of: attempt))
        await log.hasText.uncancellableWait()
        attempt.stop(reason)
        attempt.abandon()
        #expect(await attempt.ended.uncancellableWait().code == "stopped")
        #expect(log.text == "busy\nhalyard: the program did not end within 10s of SIGTERM and was killed\n")
    }

    @Test func aProgramThatEndsInTimeIsNotAccused() async throws {
        let bench = try Bench()
        let attempt = try bench.start(
            Bench.script("trap 'echo bye >&2; exit 0' TERM; echo on >&2; while :; do sleep 0.1; done"))
        await attempt.began.uncancellableWait()
        let log = try #require(bench.files.log(of: attempt))
        await log.hasText.uncancellableWait()
        attempt.stop()
        #expect(await attempt.ended.uncancellableWait().code == "stopped")
        attempt.abandon()
        // The shell may report that its child was terminated.
        #expect(log.text.hasSuffix("bye\n") && !log.text.contains("halyard:"), "\(log.text)")
    }

    /// The host kills the program without asking it to end.
    @Test func aProgramThatIsKilledWithItsHostIsNotAccused() async throws {
        let bench = try Bench()
        let attempt = try bench.start(Bench.script("echo on >&2; exec sleep 1000"))
        await attempt.began.uncancellableWait()
        let log = try #require(bench.files.log(of: attempt))
        await log.hasText.uncancellableWait()
        await bench.host.close()
        #expect(log.text == "on\n")
    }
}
