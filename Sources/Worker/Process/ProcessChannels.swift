@preconcurrency import Glibc  // `stdout` is a global variable.

/// The private descriptors of the conversation with the daemon.
struct ProcessChannels {
    let input: Int32
    let output: Int32

    /// Moves standard input and output to private descriptors, which child processes do not inherit. Descriptor 0 then
    /// leads to `/dev/null` and descriptor 1 to standard error, so that code that reads or prints cannot disturb the
    /// conversation.
    static func open() throws(SystemFailure) -> ProcessChannels {
        let channels = ProcessChannels(input: try duplicate(0), output: try duplicate(1))
        let null = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0, dup2(null, 0) == 0 else { throw SystemFailure("open /dev/null") }
        // Fails only if standard error is closed.
        if dup2(2, 1) != 1 { dup2(null, 1) }
        close(null)
        // Printed lines appear in the log at once, although standard output is not a terminal.
        setvbuf(stdout, nil, _IOLBF, 0)
        // A full pipe must not block a thread that runs attempts; see MessageWriter.
        let flags = fcntl(channels.output, F_GETFL)
        guard flags >= 0, fcntl(channels.output, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw SystemFailure("prepare its standard output")
        }
        return channels
    }

    private static func duplicate(_ descriptor: Int32) throws(SystemFailure) -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw SystemFailure("duplicate the descriptor \(descriptor)") }
        return copy
    }
}
