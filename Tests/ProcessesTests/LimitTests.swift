import Foundation
import Glibc
import Processes
import Programs
import Testing

extension ProcessesTests {
    @Suite struct LimitTests {
        @Test func theProgramGetsTheLimitsOfThePlan() async throws {
            let running = try Running.probe("facts") {
                $0.limits = ProcessLimits(
                    addressSpace: 1 << 30, processorTime: .milliseconds(1500), fileSize: 4096, descriptors: 99,
                    processes: 50)
            }
            let lines = Set(await running.text().lines)
            let expected: Set = [
                "core 0 0", "memory 1073741824 1073741824", "time 2 4", "size 4096 4096", "files 99 99",
                "processes 50 50",
            ]
            #expect(lines.isSuperset(of: expected), "\(expected.subtracting(lines)) of \(lines)")
        }

        @Test func aLimitAboveTheOneOfThisProgramHasNoEffect() async throws {
            let running = try Running.probe("facts") { $0.limits = ProcessLimits(descriptors: .max) }
            var own = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &own)
            // An unlimited value is the largest one, which C prints as -1.
            let most = Int64(bitPattern: UInt64(own.rlim_max))
            #expect(await running.text().lines.contains("files \(most) \(most)"))
        }

        @Test func tenGigabytesOfMemoryAreRefused() async throws {
            let running = try Running.probe("allocate", "10240") { $0.limits.addressSpace = 256 << 20 }
            #expect(await running.end()?.status == .exited(12))
        }

        @Test func tenGigabytesOfPrivateMemoryAreRefused() async throws {
            let running = try Running.probe("allocate", "10240") { $0.limits.data = 256 << 20 }
            #expect(await running.end()?.status == .exited(12))
        }

        @Test func aHundredThousandDescriptorsAreRefused() async throws {
            let running = try Running.probe("open", "100000") { $0.limits.descriptors = 64 }
            // Three are open from the start.
            #expect(await running.text().lines == ["61"])
        }

        @Test func endlessProcessorTimeEndsWithASignal() async throws {
            let end = try #require(
                try await Running.probe("spin") { $0.limits.processorTime = .seconds(1) }.end())
            #expect(end.status == .signalled(SIGXCPU, dumpedCore: false))
            // The kernel counts ticks for the limit and measures the usage. On a busy machine the two differ.
            #expect(end.usage.userTime + end.usage.systemTime >= .milliseconds(500))
        }

        @Test func anEndlessFileEndsWithASignal() async throws {
            let path = try scratchFile("", mode: 0o600)
            defer { unlink(path) }
            let running = try Running.probe("write", path) { $0.limits.fileSize = 1 << 20 }
            #expect(await running.end()?.status == .signalled(SIGXFSZ, dumpedCore: false))
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            #expect(size == 1 << 20)
        }

        @Test(
            .enabled(
                if: geteuid() == 0, "Only root can give the program a user of its own, whose processes a limit counts.")
        )
        func endlessProcessesAreRefused() async throws {
            let running = try Running.probe("processes", "100000", "61236") { $0.limits.processes = 20 }
            let (status, lines) = await running.text()
            #expect(status == .exited(0))
            // The program counts itself.
            #expect(lines == ["19"])
        }
    }
}
