import CLinux
import Glibc

/// The reason why a process could not be started, as a clause for people.
struct WorkerStartError: Error, CustomStringConvertible { let description: String }

/// The pipes between this program and a new process.
struct WorkerPipes {
    /// The ends of the new process, which this program closes after the launch.
    struct Ends {
        var input: Int32 = -1
        var output: Int32 = -1
        var errors: Int32 = -1

        func close() { for descriptor in [input, output, errors] { _ = Glibc.close(descriptor) } }
    }

    private(set) var ends = Ends()
    private(set) var input: Int32 = -1
    private(set) var output: Int32 = -1
    private(set) var errors: Int32 = -1
    /// Wakes the thread that serves the process.
    private(set) var wake: Int32 = -1

    /// Opens the pipes. This program's ends do not block.
    init() throws(WorkerStartError) {
        do throws(WorkerStartError) {
            (ends.input, input) = try Self.pipe()
            (output, ends.output) = try Self.pipe()
            (errors, ends.errors) = try Self.pipe()
            wake = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            if wake < 0 { throw WorkerStartError() }
        } catch {
            ends.close()
            for descriptor in [input, output, errors] where descriptor >= 0 { close(descriptor) }
            throw error
        }
        for descriptor in [input, output, errors] { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    }

    private static func pipe() throws(WorkerStartError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw WorkerStartError() }
        return (ends[0], ends[1])
    }
}

extension WorkerStartError {
    /// The last error of the system.
    fileprivate init() { self.init(description: String(cString: strerror(errno))) }
}
