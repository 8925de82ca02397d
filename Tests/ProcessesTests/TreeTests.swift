import Foundation
import Glibc
import Programs
import Testing

@testable import Processes

extension ProcessesTests {
    /// Without a cgroup: the tree is found by its parents.
    @Suite struct TreeTests {
        init() { Orphans.adopt() }

        @Test(arguments: ["daemon", "disguise"]) func killReachesADaemonThatLeftTheSession(_ command: String)
            async throws
        {
            let running = try Running.probe(command)
            await running.output.first(containing: "ready")
            // The disguised daemon has another name and no environment.
            let daemon =
                command == "daemon"
                ? try await running.number(after: "daemon")
                : try #require(children(of: running.process.pid).first)
            #expect(getsid(daemon) != running.process.pid)
            running.process.kill()
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
            #expect(!exists(daemon))
        }

        @Test(arguments: ["daemon", "disguise"]) func aProcessThatEndsTakesItsDaemonsWithIt(_ command: String)
            async throws
        {
            let running = try Running.probe(command, "exit")
            #expect(await running.end()?.status == .exited(0))
            // The daemon holds the output open as long as it lives.
            await running.output.first { _ in false }
            #expect(childrenOfThisProgram().isEmpty)
        }

        @Test func theEndOfOneProcessSparesTheDaemonsOfAnother() async throws {
            let other = try Running.probe("daemon")
            let daemon = try await other.number(after: "daemon")
            await other.output.first(containing: "ready")
            #expect(try await Running.probe("daemon", "exit").end()?.status == .exited(0))
            #expect(exists(daemon))
            other.process.kill()
            _ = await other.end()
            #expect(!exists(daemon))
        }

        @Test func childrenOfOtherCodeAreSpared() async throws {
            let other = try spawn("/bin/sh", "-c", "kill -STOP $$; exit 7")
            #expect(try await Running.probe("daemon", "exit").end()?.status == .exited(0))
            var status: Int32 = 0
            #expect(waitpid(other, &status, WUNTRACED) == other)
            #expect(status & 0xff == 0x7f)
            kill(other, SIGCONT)
            #expect(waitpid(other, &status, 0) == other)
            #expect((status >> 8) & 0xff == 7)
        }

        @Test func processesThatStartMeanwhileAreSpared() async throws {
            // Orphans are killed at each end, while other threads launch.
            let plan = LaunchPlan(.path(binary("ProcessProbe")), ["daemon", "exit"])
            let (ends, end) = AsyncStream.makeStream(of: ProcessEnd.self)
            try await withThrowingTaskGroup { group in
                for _ in 0..<10 {
                    group.addTask {
                        try await onThread { for _ in 0..<20 { _ = try plan.launch { end.yield($0) } } }
                    }
                }
                try await group.waitForAll()
            }
            var statuses: [ProcessEnd.Status] = []
            for await end in ends.prefix(200) { statuses.append(end.status) }
            #expect(statuses == Array(repeating: .exited(0), count: 200))
            #expect(childrenOfThisProgram().isEmpty)
        }

        @Test(
            .enabled(
                if: geteuid() == 0, "Only root can give the program a user of its own, whose processes a limit counts.")
        )
        func aProgramThatForksWithoutEndIsKilled() async throws {
            let user: UInt32 = 61_234
            let running = try Running.probe("bomb", "200", "\(user)")
            await running.output.first(containing: "full")
            #expect(processes(of: user).count > 100)
            running.process.kill()
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
            #expect(processes(of: user) == [])
            #expect(childrenOfThisProgram().isEmpty)
        }

        @Test(
            .enabled(
                if: geteuid() == 0, "Only root can give the program a user of its own, whose processes a limit counts.")
        )
        func aProgramThatLeavesEndlessForksTakesThemWithIt() async throws {
            let user: UInt32 = 61_235
            let running = try Running.probe("bomb", "200", "\(user)", "exit")
            #expect(await running.end()?.status == .exited(0))
            // They hold the output open as long as they live.
            await running.output.first { _ in false }
            #expect(processes(of: user) == [])
            #expect(childrenOfThisProgram().isEmpty)
        }

        private func processes(of user: UInt32) -> [pid_t] {
            Processes.processes { !$0.isDead }.filter { pid in
                var status = stat()
                return stat("/proc/\(pid)", &status) == 0 && status.st_uid == user
            }
        }

        @Test func aHostileNameDoesNotFalsifyTheFacts() async throws {
            let name = ") Z 1 (x"
            let folder = try scratchFile("", mode: 0o600) + ".d"
            mkdir(folder, 0o700)
            let path = "\(folder)/\(name)"
            #expect(symlink(binary("ProcessProbe"), path) == 0)
            let running = try Running.start(LaunchPlan(.path(path), ["linger"]))
            await running.output.first(containing: "ready")
            #expect(try String(contentsOfFile: "/proc/\(running.process.pid)/comm", encoding: .utf8) == name + "\n")
            let facts = ProcessFacts(running.process.pid)
            #expect(facts == ProcessFacts(parent: getpid(), isDead: false))
            running.process.kill()
            _ = await running.end()
            unlink(path)
            rmdir(folder)
            unlink(String(folder.dropLast(2)))
        }

        @Test func bothWaysToFindChildrenAgree() async throws {
            let running = try Running.probe("child")
            let child = try await running.number(after: "child")
            let pid = running.process.pid
            #expect(children(of: pid) == [child])
            #expect(Processes.processes { $0.parent == pid } == [child])
            running.process.kill()
            _ = await running.end()
        }
    }
}
