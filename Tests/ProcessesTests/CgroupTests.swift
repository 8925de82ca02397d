import CLauncher
import Foundation
import Glibc
import Programs
import Testing

@testable import Processes

/// A group for the tests, below the group of this program. Nil where this program may not create one.
private func testRoot() -> CgroupFolder? {
    guard let own = try? CgroupFolder.own(), own.isWritable else { return nil }
    let folder = CgroupFolder(path: own.file("halyard-test-\(getpid())"))
    return mkdir(folder.path, 0o755) == 0 || errno == EEXIST ? folder : nil
}

private let canMakeGroups: Bool = {
    guard let folder = testRoot() else { return false }
    return folder.remove()
}()

extension ProcessesTests {
    @Suite struct CgroupTests {
        @Test(.enabled(if: canMakeGroups, "This program may not create cgroups (cgroup v2) here."))
        func theProcessRunsInItsGroupAndTheGroupGoesAway() async throws {
            try await inGroup { group in
                let running = try Running.probe("linger") { $0.group = group }
                await running.output.first(containing: "ready")
                #expect(group.folder.read("cgroup.procs") == "\(running.process.pid)\n")
                running.process.terminate(grace: .seconds(600))
                let end = try #require(await running.end())
                #expect(end.status == .signalled(SIGTERM, dumpedCore: false))
                #expect(try #require(end.groupUsage).userTime != nil)
                #expect(access(group.folder.path, F_OK) != 0)
            }
        }

        @Test(.enabled(if: canMakeGroups, "This program may not create cgroups (cgroup v2) here."))
        func killReachesADaemonThatNobodyAdopts() async throws {
            try await inGroup { group in
                let running = try Running.probe("disguise") {
                    $0.group = group
                    $0.adoptsOrphans = false
                }
                await running.output.first(containing: "ready")
                running.process.kill()
                #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
                await running.output.first { _ in false }
                #expect(access(group.folder.path, F_OK) != 0)
            }
        }

        @Test(.enabled(if: canMakeGroups, "This program may not create cgroups (cgroup v2) here."))
        func aProcessThatEndsTakesItsGroupsWithIt() async throws {
            try await inGroup { group in
                // The program may create groups below its own.
                try mkdirOrThrow(group.folder.file("below"))
                try mkdirOrThrow(group.folder.file("below/deeper"))
                let running = try Running.probe("disguise", "exit") { $0.group = group }
                #expect(await running.end()?.status == .exited(0))
                await running.output.first { _ in false }
                #expect(access(group.folder.path, F_OK) != 0)
            }
        }

        @Test(.enabled(if: canMakeGroups, "This program may not create cgroups (cgroup v2) here."))
        func aGroupThatIsGoneIsALaunchError() async throws {
            try await inGroup { group in
                #expect(group.remove())
                let plan = LaunchPlan(.path("/bin/true"), group: group)
                #expect(throws: LaunchError.failed(.joinGroup, program: "/bin/true", code: ENODEV)) {
                    try plan.launch { _ in }
                }
            }
        }

        @Test(.enabled(if: canMakeGroups, "This program may not create cgroups (cgroup v2) here."))
        func aGroupWithoutAProcessGoesAway() async throws {
            var path = ""
            try await inGroup { group in path = group.folder.path }
            #expect(access(path, F_OK) != 0)
        }

        private func inGroup(_ body: (Cgroup) async throws -> Void) async throws {
            let folder = try #require(testRoot())
            defer { #expect(folder.remove()) }
            try await body(try CgroupRoot(folder).makeGroup())
        }

        private func mkdirOrThrow(_ path: String) throws {
            guard mkdir(path, 0o755) == 0 else { throw CallFailed(call: "mkdir", code: errno) }
        }

        /// Runs in a unit with Delegate=yes.
        private static let isDelegated = (try? CgroupFolder.own())?.isDelegated ?? false

        @Test(.enabled(if: isDelegated, "The cgroup of this program is not delegated to it."))
        func theDelegatedGroupIsUsed() async throws {
            let root = try CgroupRoot.delegated()
            #expect(try CgroupFolder.own().path == root.folder.file("daemon"))
            // A second time, this program is already in its group.
            #expect(try CgroupRoot.delegated().folder == root.folder)
            let group = try root.makeGroup(limits: CgroupLimits(memory: 64 << 20, processors: 0.5, processes: 20))
            let running = try Running.probe("disguise") { $0.group = group }
            await running.output.first(containing: "ready")
            running.process.kill()
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
            #expect(access(group.folder.path, F_OK) != 0)
            // A container may have no memory controller.
            guard root.controllers.contains(.memory) else { return }
            let greedy = try Running.probe("allocate", "256") {
                $0.group = try? root.makeGroup(limits: CgroupLimits(memory: 64 << 20))
            }
            let end = try #require(await greedy.end())
            #expect(end.status == .signalled(SIGKILL, dumpedCore: false))
            // Some kernels count a process twice if its whole group is killed.
            #expect(end.groupUsage?.outOfMemoryKills ?? 0 > 0)
        }

        @Test func theGroupOfThisProgramIsFoundOnAnyMachine() {
            func folder(_ groups: String, _ mounts: String) -> String? {
                CgroupFolder(groups: groups, mounts: mounts)?.path
            }
            let unified = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
            let hybrid = "40 32 0:35 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
            let part = "30 24 0:26 /machine/one /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
            let old = "33 32 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
            let unit = "/system.slice/halyard.service"
            #expect(folder("0::\(unit)\n", unified) == "/sys/fs/cgroup" + unit)
            #expect(folder("4:memory:/\n0::\(unit)\n", "\(old)\n\(hybrid)\n") == "/sys/fs/cgroup/unified" + unit)
            #expect(folder("0::/\n", unified) == "/sys/fs/cgroup")
            #expect(folder("0::/machine/one/a\n", part) == "/sys/fs/cgroup/a")
            #expect(folder("0::/machine/one\n", part) == "/sys/fs/cgroup")
            #expect(folder("0::/machine/onerous\n", part) == nil)
            #expect(folder("0::\(unit)\n", old) == nil)
            #expect(folder("4:memory:/\n", unified) == nil)
            #expect(folder("0::/../other\n", unified) == nil)
            #expect(folder("", "") == nil)
            #expect(folder("0::/", "- cgroup2\n1 - cgroup2") == nil)
        }

        @Test func limitsBecomeTheSettingsOfTheirControllers() {
            let limits = CgroupLimits(memory: 512 << 20, processors: 1.5, processes: 64)
            func settings(_ limits: CgroupLimits, _ controllers: Set<CgroupController>) -> [String] {
                limits.settings(with: controllers).map { "\($0.file)=\($0.value)" }
            }
            #expect(
                settings(limits, [.memory, .cpu, .pids]) == [
                    "memory.max=536870912", "memory.swap.max=0", "memory.oom.group=1", "cpu.max=150000 100000",
                    "pids.max=64",
                ])
            #expect(settings(limits, [.pids]) == ["pids.max=64"])
            #expect(settings(CgroupLimits(), [.memory, .cpu, .pids]) == [])
            #expect(settings(CgroupLimits(processors: 0), [.cpu]) == ["cpu.max=1000 100000"])
            #expect(settings(CgroupLimits(processors: .infinity), [.cpu]) == ["cpu.max=max 100000"])
            #expect(settings(CgroupLimits(processors: .nan), [.cpu]) == ["cpu.max=max 100000"])
        }

        @Test func theUsageIsReadFromTheFilesThatExist() {
            let files = [
                "cpu.stat": "usage_usec 3000\nuser_usec 2000\nsystem_usec 1000\nbroken\n",
                "memory.peak": "1048576\n", "memory.events": "low 0\noom 2\noom_kill 3\noom_group_kill 1\n",
            ]
            let usage = CgroupUsage { files[$0] }
            #expect(usage.userTime == .milliseconds(2))
            #expect(usage.systemTime == .milliseconds(1))
            #expect(usage.peakMemory == 1 << 20)
            #expect(usage.outOfMemoryKills == 3)
            #expect(CgroupUsage { _ in nil } == CgroupUsage())
            #expect(CgroupUsage { _ in "-1\n\n x y z" } == CgroupUsage())
        }
    }
}
