import Client
import ControlProtocol
import Foundation
import Glibc
import Jobs
import Logging
import Systemd
import Testing

@testable import Daemon

/// How long a failed start stays, tested without a separate process.
@Suite struct FailedStartStayTests {
    /// A listening socket that the test holds open, as systemd does.
    private final class Listener: Sendable {
        let descriptor: CInt

        init(_ path: String) throws {
            descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0 && listen(descriptor, 8) == 0)
        }

        deinit { close(descriptor) }

        func copy() -> CInt { dup(descriptor) }

        func waitForCaller() async {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { [descriptor] in
                    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    poll(&entry, 1, -1)
                    continuation.resume()
                }
            }
        }
    }

    private func start(_ listener: Listener) -> FailedStart {
        var quiet = Logger(label: "test")
        quiet.logLevel = .critical
        return FailedStart(
            failure: DaemonFailure(.configuration, "one\ntwo", errno: EINVAL), socket: listener.copy(),
            unit: UnitName(controlGroups: "0::/system.slice/halyard@two.service\n"), logger: quiet)
    }

    /// systemd and its caller must learn at once that the start failed.
    @Test(arguments: [
        StoreError.unanswered(server: "db", message: "cut"), .unreachable(server: "db", message: "down"),
        .diskFull(path: "db"), .busy(waitedMilliseconds: 10_000),
    ])
    func aStartThatTheDatabaseRefusesForAWhileIsTriedAgain(error: StoreError) {
        #expect(DaemonFailure(error).status == .temporary)
        #expect(DaemonFailure(ControlProblem(.unavailable, "\(error)")).status == .temporary)
    }

    @Test(.timeLimit(.minutes(1)))
    func withoutCallersItEndsAtOnce() async throws {
        let folder = try TemporaryFolder()
        let listener = try Listener(folder.path + "/halyard.sock")
        await start(listener).refuseCallers(for: .seconds(3600))
    }

    /// The process ends; the socket and later callers remain for the next one.
    @Test(.timeLimit(.minutes(1)))
    func everyCallerIsAnswered() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/halyard.sock"
        let listener = try Listener(path)
        for _ in 1...3 {
            let failed = start(listener)
            let caller = Task { try await SocketControl(path: path).status() }
            await listener.waitForCaller()
            await failed.refuseCallers(for: .milliseconds(10))
            let problem = await #expect(throws: ControlProblem.self) { try await caller.value }
            #expect(problem == failed.problem)
            #expect(problem?.code == .noDaemon)
            #expect(problem?.message.hasSuffix("See: systemctl status halyard@two") == true)
            #expect(problem?.details == ["one", "two"])
        }
    }

    @Test func theUnitNameComesFromTheControlGroup() {
        #expect(
            UnitName(controlGroups: "0::/system.slice/halyard.service\n")?.statusCommand == "systemctl status halyard")
        #expect(
            UnitName(
                controlGroups: "12:pids:/x\n1:name=systemd:/system.slice/system-halyard.slice/halyard@a.service\n")?
                .name == "halyard@a")
        #expect(
            UnitName(
                controlGroups: "0::/user.slice/user-1000.slice/user@1000.service/app.slice/halyard.service\n")?
                .statusCommand == "systemctl --user status halyard")
        #expect(UnitName(controlGroups: "0::/system.slice/halyard.service/daemon\n")?.name == "halyard")
        #expect(UnitName(controlGroups: "0::/user.slice/user-1000.slice/session-2.scope\n") == nil)
        #expect(UnitName(controlGroups: "0::/user.slice/user@7.service/app.slice/shell.scope/mine\n") == nil)
        #expect(UnitName(controlGroups: "") == nil)
    }
}
