import CLinux
import Glibc
import Processes
import Programs
import Testing

extension ProcessesTests {
    /// Each failing step names itself and its error, and leaves neither a process nor a descriptor.
    @Suite struct LaunchErrorTests {
        private func failure(of plan: LaunchPlan, sourceLocation: SourceLocation = #_sourceLocation) -> LaunchError? {
            let before = openDescriptors()
            let children = children()
            do throws(LaunchError) {
                let process = try plan.launch { _ in }
                process.kill()
                Issue.record("The process started.", sourceLocation: sourceLocation)
                return nil
            } catch {
                // The first launch of this program also starts the watcher, which keeps two descriptors.
                let left = openDescriptors().subtracting(before)
                #expect(left.isEmpty, sourceLocation: sourceLocation)
                #expect(self.children() == children, sourceLocation: sourceLocation)
                #expect("\(error)".hasSuffix("."), sourceLocation: sourceLocation)
                return error
            }
        }

        private func children() -> Set<pid_t> { Set(childrenOfThisProgram()) }

        init() async throws { _ = try await Running.probe("exit", "0").text() }

        @Test func aMissingProgram() {
            let error = failure(of: LaunchPlan(.path("/nonexistent/program")))
            #expect(error == .failed(.execute, program: "/nonexistent/program", code: ENOENT))
            #expect(
                error?.description
                    == "/nonexistent/program did not start: executing it failed: No such file or directory. Check that the program and its interpreter are installed."
            )
        }

        @Test func aFileThatIsNotExecutable() throws {
            let path = try scratchFile("#!/bin/sh\n", mode: 0o600)
            defer { unlink(path) }
            #expect(failure(of: LaunchPlan(.path(path))) == .failed(.execute, program: path, code: EACCES))
            let file = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            let plan = LaunchPlan(.descriptor(file, name: "script"))
            #expect(failure(of: plan) == .failed(.execute, program: "script", code: EACCES))
        }

        @Test func aFileWithoutAFormat() throws {
            let path = try scratchFile("neither a script nor a program", mode: 0o700)
            defer { unlink(path) }
            #expect(failure(of: LaunchPlan(.path(path))) == .failed(.execute, program: path, code: ENOEXEC))
        }

        @Test func anInterpreterThatIsMissing() throws {
            let path = try scratchFile("#!/nonexistent/interpreter\n", mode: 0o700)
            defer { unlink(path) }
            let file = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            let plan = LaunchPlan(.descriptor(file, name: "script"))
            #expect(failure(of: plan) == .failed(.execute, program: "script", code: ENOENT))
        }

        @Test func argumentsBeyondTheKernelsLimit() {
            let plan = LaunchPlan(.path("/bin/true"), [String(repeating: "x", count: 1 << 20)])
            #expect(failure(of: plan) == .failed(.execute, program: "/bin/true", code: E2BIG))
        }

        @Test func aBadFolder() {
            let missing = LaunchPlan(.path("/bin/true"), folder: "/nonexistent")
            #expect(
                failure(of: missing) == .failed(.enterFolder("/nonexistent"), program: "/bin/true", code: ENOENT))
            let file = LaunchPlan(.path("/bin/true"), folder: "/etc/passwd")
            #expect(failure(of: file) == .failed(.enterFolder("/etc/passwd"), program: "/bin/true", code: ENOTDIR))
        }

        @Test(arguments: [-1, 19_999] as [Int32]) func aDescriptorThatIsNotOpen(_ number: Int32) {
            let plan = LaunchPlan(.path("/bin/true"), descriptors: [5: number])
            #expect(failure(of: plan) == .failed(.passDescriptor(5), program: "/bin/true", code: EBADF))
            let executable = LaunchPlan(.descriptor(number, name: "none"))
            #expect(failure(of: executable) == .failed(.execute, program: "none", code: EBADF))
        }

        @Test(arguments: [-1, 65_536, .max] as [Int32]) func aDescriptorWithAnInvalidNumber(_ number: Int32) {
            let plan = LaunchPlan(.path("/bin/true"), descriptors: [number: 0])
            #expect(failure(of: plan) == .invalid(.descriptor))
        }

        @Test func aNulByteOrABadVariableName() {
            #expect(failure(of: LaunchPlan(.path("/bin/true\0"))) == .invalid(.program))
            #expect(failure(of: LaunchPlan(.path("/bin/true"), ["a\0b"])) == .invalid(.argument))
            #expect(failure(of: LaunchPlan(.path("/bin/true"), folder: "/\0")) == .invalid(.folder))
            for variable in [["": "1"], ["A=B": "1"], ["A\0": "1"], ["A": "\0"]] {
                #expect(failure(of: LaunchPlan(.path("/bin/true"), environment: variable)) == .invalid(.environment))
            }
        }

        @Test func aFullDescriptorTable() async throws {
            var plan = LaunchPlan(.path(binary("ProcessProbe")), ["exit", "0"])
            let given = open("/dev/null", O_RDWR | O_CLOEXEC)
            var taken: [Int32] = []
            var previous = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &previous)
            var low = previous
            low.rlim_cur = rlim_t(openDescriptors().count + 40)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &low)
            while case let next = open("/dev/null", O_RDONLY | O_CLOEXEC), next >= 0 { taken.append(next) }
            let withoutNull = failure(fullTable: plan)
            plan.descriptors = [0: given, 1: given, 2: given]
            let withoutProcess = failure(fullTable: plan)
            // One free descriptor, for the process, is enough: the child makes room for itself.
            close(taken.removeLast())
            let (ends, end) = AsyncStream.makeStream(of: ProcessEnd.self)
            let started = Result { try plan.launch { end.yield($0) } }
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &previous)
            for descriptor in taken + [given] { close(descriptor) }
            #expect(withoutNull == .failed(.passDescriptor(0), program: plan.path, code: EMFILE))
            #expect(withoutProcess == .failed(.createProcess, program: plan.path, code: EMFILE))
            #expect(throws: Never.self) { try started.get() }
            #expect(await ends.first { _ in true }?.status == .exited(0))
        }

        private func failure(fullTable plan: LaunchPlan) -> LaunchError? {
            do throws(LaunchError) {
                _ = try plan.launch { _ in }
                return nil
            } catch {
                return error
            }
        }
    }
}

extension LaunchPlan {
    fileprivate var path: String { if case .path(let path) = executable { path } else { "" } }
}
