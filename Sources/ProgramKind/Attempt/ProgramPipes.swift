import CLinux
import Glibc
import Processes

/// The descriptors between this program and a new process.
final class ProgramPipes {
    /// The ends of the new process, by the number that it gets for each.
    private(set) var passed: [Int32: Int32] = [:]
    /// Standard output, if it is the result; otherwise -1.
    private(set) var output: Int32 = -1
    /// The log: standard error, and standard output unless it is the result.
    private(set) var log: Int32 = -1
    /// Wakes the attempt's thread.
    private(set) var wake: Int32 = -1

    /// - Parameter input: The content of standard input. It is a file in memory, so that a program that does not read it
    ///   blocks nobody.
    init(input: [UInt8]?, outputIsResult: Bool) throws(FileFailure) {
        wake = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wake >= 0 else { throw FileFailure("create", "an event descriptor") }
        if let input { passed[0] = try Self.file(with: input) }
        let (log, writeLog) = try Self.pipe()
        self.log = log
        passed[2] = writeLog
        if outputIsResult {
            let (output, writeOutput) = try Self.pipe()
            self.output = output
            passed[1] = writeOutput
        } else {
            // One pipe keeps the order of what the program writes to both.
            passed[1] = writeLog
        }
    }

    deinit {
        closePassed()
        for descriptor in [output, log, wake] where descriptor >= 0 { close(descriptor) }
    }

    /// Closes the ends of the new process, after its launch.
    func closePassed() {
        for descriptor in Set(passed.values) { close(descriptor) }
        passed = [:]
    }

    private static func pipe() throws(FileFailure) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw FileFailure("create", "a pipe") }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }

    private static func file(with bytes: [UInt8]) throws(FileFailure) -> Int32 {
        let file = memfd_create("halyard-input", UInt32(0x1))  // MFD_CLOEXEC
        guard file >= 0 else { throw FileFailure("create", "the input in memory") }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(file, $0.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let code = errno
                close(file)
                throw FileFailure("write", "the input in memory", code)
            }
            written += count
        }
        lseek(file, 0, SEEK_SET)
        return file
    }
}
