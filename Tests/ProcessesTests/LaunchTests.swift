import CLinux
import Glibc
import Processes
import Programs
import Synchronization
import Testing

extension ProcessesTests {
    @Suite struct LaunchTests {
        @Test func theProgramGetsItsArgumentsUnchanged() async throws {
            let arguments = ["", "a b", "\"quoted\" 'twice'", "$(id) `id` *", "--", "-rf", "ünï"]
            let running = try Running.start(LaunchPlan(.path(binary("ProcessProbe")), ["facts"] + arguments))
            let (status, lines) = await running.text()
            #expect(status == .exited(0))
            let said = lines.filter { $0.hasPrefix("argument ") }.map { String($0.dropFirst(9)) }
            #expect(said == [binary("ProcessProbe"), "facts"] + arguments)
        }

        @Test func theEnvironmentHoldsOnlyTheVariablesOfThePlan() async throws {
            setenv("HALYARD_TEST_SECRET", "leaked", 1)
            let running = try Running.probe("facts") { $0.environment = ["B": "2=3", "A": "1", "EMPTY": ""] }
            let lines = await running.text().lines
            #expect(lines.filter { $0.hasPrefix("variable") } == ["variable A=1", "variable B=2=3", "variable EMPTY="])
        }

        @Test func theProcessStartsWithCleanState() async throws {
            // The embedding program may ignore and block signals; the new process must not inherit that.
            let previous = Glibc.signal(SIGUSR2, SIG_IGN)
            defer { Glibc.signal(SIGUSR2, previous) }
            let running = try Running.probe("facts") {
                $0.folder = "/usr/lib"
                $0.mask = 0o027
            }
            let lines = Set(await running.text().lines)
            let expected: Set = [
                "folder /usr/lib", "mask 27", "session 1", "no_new_privs 1", "adopts 1", "oom 500",
                "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "core 0 0",
            ]
            #expect(lines.isSuperset(of: expected), "\(expected.subtracting(lines)) of \(lines)")
        }

        @Test func signalsThatTheLaunchingThreadBlocksAreUnblocked() async throws {
            // libdispatch blocks nearly all signals on its threads.
            let launched = Mutex<Running?>(nil)
            try await onThread {
                var every = sigset_t()
                sigfillset(&every)
                pthread_sigmask(SIG_SETMASK, &every, nil)
                let running = try Running.probe("facts")
                launched.withLock { $0 = running }
            }
            let running = try #require(launched.withLock { $0 })
            #expect(await running.text().lines.contains("SigBlk:\t0000000000000000"))
        }

        @Test func onlyTheDescriptorsOfThePlanAreOpen() async throws {
            let open = try pipeEnds()
            defer { for end in open { close(end) } }
            // Inheritable, as a careless library leaves them.
            for end in open { _ = fcntl(end, F_SETFD, 0) }
            let running = try Running.probe("descriptors") { $0.descriptors[7] = open[0] }
            #expect(await running.text().lines.sorted() == ["0", "1", "2", "7"])
        }

        @Test func descriptorsCanSwapTheirNumbers() async throws {
            let first = try pipeEnds()
            let second = try pipeEnds()
            for (pipe, word) in [(first, "first\n"), (second, "second\n")] {
                _ = write(pipe[1], word, word.utf8.count)
                close(pipe[1])
            }
            defer { for end in [first[0], second[0]] { close(end) } }
            for (number, word) in [(first[0], "second"), (second[0], "first")] {
                let running = try Running.probe("read", "\(number)") {
                    $0.descriptors[first[0]] = second[0]
                    $0.descriptors[second[0]] = first[0]
                }
                #expect(await running.text().lines == [word])
            }
        }

        @Test func theProgramCanBeAnOpenFile() async throws {
            let file = open(binary("ProcessProbe"), Int32(halyard_open_path) | O_CLOEXEC)
            defer { close(file) }
            let running = try Running.start(LaunchPlan(.descriptor(file, name: "probe"), ["facts"]))
            #expect(await running.text().lines.prefix(2) == ["argument probe", "argument facts"])
            let other = try Running.start(LaunchPlan(.descriptor(file, name: "probe"), ["descriptors"]))
            #expect(await other.text().lines.sorted() == ["0", "1", "2"])
        }

        @Test func theProgramCanBeAnOpenScript() async throws {
            let path = try scratchFile("#!/bin/sh\necho \"script $1\"\n", mode: 0o700)
            defer { unlink(path) }
            let file = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            let running = try Running.start(LaunchPlan(.descriptor(file, name: "script"), ["with a blank"]))
            #expect(await running.text().lines == ["script with a blank"])
        }

        @Test func theEndIsReportedWithItsCodeOrSignal() async throws {
            #expect(try await Running.probe("exit", "0").end()?.status == .exited(0))
            #expect(try await Running.probe("exit", "200").end()?.status == .exited(200))
            for signal in [SIGXCPU, SIGKILL] {
                let status = try await Running.probe("raise", "\(signal)").end()?.status
                #expect(status == .signalled(signal, dumpedCore: false))
            }
        }

        @Test func theUsageOfTheProcessIsReported() async throws {
            let end = try #require(try await Running.probe("allocate", "64").end())
            #expect(end.status == .exited(0))
            #expect((64 << 20..<256 << 20).contains(end.usage.maxResidentBytes))
            #expect(end.usage.userTime + end.usage.systemTime > .zero)
        }

        @Test func aChildOfOtherCodeIsNotReaped() async throws {
            let other = try spawn("/bin/sh", "-c", "exit 7")
            #expect(try await Running.probe("exit", "0").end()?.status == .exited(0))
            var status: Int32 = 0
            #expect(waitpid(other, &status, 0) == other)
            #expect((status >> 8) & 0xff == 7)
        }
    }
}
