import Foundation
import Glibc
import Processes
import Programs
import Testing

extension ProcessesTests {
    @Suite struct EndingTests {
        @Test func terminateEndsAProcessThatListens() async throws {
            let running = try Running.probe("linger")
            await running.output.first(containing: "ready")
            running.process.terminate(grace: .seconds(600))
            #expect(await running.end()?.status == .signalled(SIGTERM, dumpedCore: false))
        }

        @Test func terminateKillsAProcessThatIgnoresItAfterTheGrace() async throws {
            let running = try Running.probe("stubborn")
            await running.output.first(containing: "ready")
            running.process.terminate(grace: .milliseconds(50))
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
        }

        @Test func aSecondTerminateShortensTheGrace() async throws {
            let running = try Running.probe("stubborn")
            await running.output.first(containing: "ready")
            running.process.terminate(grace: .seconds(600))
            running.process.terminate(grace: .zero)
            running.process.terminate(grace: .seconds(600))
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
        }

        @Test func aProcessCanEndWithTheThreadThatLaunchedIt() async throws {
            let running = try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(
                        with: Result { try Running.probe("stubborn") { $0.endsWithThread = true } })
                }
            }
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
        }

        @Test func aStoppedProcessCanBeTerminated() async throws {
            let running = try Running.probe("stop")
            await running.output.first(containing: "ready")
            running.process.terminate(grace: .seconds(600))
            #expect(await running.end()?.status == .signalled(SIGTERM, dumpedCore: false))
        }

        @Test func aStoppedProcessCanBeKilled() async throws {
            let running = try Running.probe("stop")
            await running.output.first(containing: "ready")
            running.process.kill()
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
        }

        @Test func signalsReachTheGroup() async throws {
            let running = try Running.probe("linger")
            await running.output.first(containing: "ready")
            running.process.signal(SIGUSR1)
            #expect(await running.end()?.status == .signalled(SIGUSR1, dumpedCore: false))
            // Nothing happens after the end.
            running.process.signal(SIGKILL)
            running.process.kill()
            running.process.terminate(grace: .zero)
        }

        @Test func killReachesChildrenInTheGroup() async throws {
            let running = try Running.probe("child")
            let child = try await running.number(after: "child")
            running.process.kill()
            #expect(await running.end()?.status == .signalled(SIGKILL, dumpedCore: false))
            waitForEnd(of: child)
            // The output closes only when no process holds it any more.
            await running.output.first { _ in false }
        }

        @Test func aProcessThatEndsTakesItsGroupWithIt() async throws {
            let running = try Running.probe("leave")
            let child = try await running.number(after: "child")
            #expect(await running.end()?.status == .exited(0))
            waitForEnd(of: child)
            await running.output.first { _ in false }
        }

        @Test func aThousandProcessesFromManyThreadsLeaveNothing() async throws {
            _ = try await Running.probe("exit", "0").text()
            let before = openDescriptors()
            let plan = LaunchPlan(.path(binary("ProcessProbe")), ["exit", "3"])
            let (ends, end) = AsyncStream.makeStream(of: ProcessEnd.self)
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await onThread {
                            for _ in 0..<50 {
                                _ = try plan.launch { end.yield($0) }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            var statuses: [ProcessEnd.Status] = []
            for await end in ends.prefix(1000) { statuses.append(end.status) }
            #expect(statuses == Array(repeating: .exited(3), count: 1000))
            // The descriptors of the program before may be closed only now.
            #expect(openDescriptors().isSubset(of: before))
            #expect(childrenOfThisProgram().isEmpty)
        }
    }
}
