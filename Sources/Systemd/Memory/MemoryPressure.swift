import FoundationEssentials
import Glibc

/// Reports when memory becomes short for the service or the machine. It watches the file that systemd 254 and
/// newer name in the environment (https://systemd.io/MEMORY_PRESSURE/), on a dedicated thread that sleeps until
/// the kernel reports pressure.
public final class MemoryPressure: Sendable {
    private let descriptor: Int32
    private let events: Int16
    /// `read` becomes readable when `write` is closed.
    private let stop: (read: Int32, write: Int32)
    private let onPressure: @Sendable () -> Void

    /// Starts watching.
    ///
    /// - Parameters:
    ///   - path: The value of `MEMORY_PRESSURE_WATCH`: a file of the kernel, or a named pipe.
    ///   - setting: The value of `MEMORY_PRESSURE_WRITE`, in Base64. It is written to the file first and says
    ///     how much pressure to report.
    ///   - onPressure: Called for each event, on the dedicated thread.
    /// - Returns: Nil if there is no file to watch, or if it cannot be watched. Memory pressure then goes
    ///   unnoticed.
    public init?(path: String?, setting: String?, onPressure: @escaping @Sendable () -> Void) {
        guard let path, path != "/dev/null" else { return nil }
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard fstat(descriptor, &status) == 0, Self.apply(setting, to: descriptor),
            socketpair(AF_UNIX, kind, 0, &ends) == 0
        else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        events = status.st_mode & S_IFMT == S_IFREG ? Int16(POLLPRI) : Int16(POLLIN)
        stop = (ends[0], ends[1])
        self.onPressure = onPressure
        var thread = pthread_t()
        let watch = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<MemoryPressure>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, watch.toOpaque())
        guard code == 0 else {
            watch.release()
            for descriptor in [descriptor] + ends { close(descriptor) }
            return nil
        }
        pthread_detach(thread)
    }

    /// Ends the thread. The thread may still report an event that it has already received.
    public func end() { close(stop.write) }

    private static func apply(_ setting: String?, to descriptor: Int32) -> Bool {
        guard let setting else { return true }
        guard let bytes = Data(base64Encoded: setting).map(Array.init) else { return false }
        return write(descriptor, bytes, bytes.count) == bytes.count
    }

    private func run() {
        defer {
            close(descriptor)
            close(stop.read)
        }
        var watched = [
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: stop.read, events: Int16(POLLIN), revents: 0),
        ]
        var bytes = [UInt8](repeating: 0, count: 512)
        while true {
            let count = poll(&watched, 2, -1)
            if count < 0, errno == EINTR { continue }
            // The control group is being removed, or the watch ended.
            if count < 0 || watched[1].revents != 0
                || watched[0].revents & ~events & ~Int16(POLLIN | POLLOUT) != 0
            {
                return
            }
            if events == Int16(POLLIN) { _ = read(descriptor, &bytes, bytes.count) }
            onPressure()
        }
    }
}
