import CLinux
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Asks name servers for many names at once. A single thread waits for all lookups together.
///
/// The thread starts with the first question, and sleeps while there are none.
final class NameServers: Sendable {
    typealias Report = @Sendable (Lookup.Progress) -> Void

    private struct Question: Sendable {
        var name: String
        var files: ResolverFiles
        var report: Report
    }

    private struct State {
        var questions: [Question] = []
        var isRunning = false
        var isShutDown = false
    }

    private let state = Mutex(State())
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let paths: ResolverFiles.Paths
    /// A pipe that wakes the thread, which polls its reading end.
    private let wake: (reading: Int32, writing: Int32)?

    init(_ paths: ResolverFiles.Paths) {
        self.paths = paths
        var ends: [Int32] = [-1, -1]
        // If the process has no file descriptors left, every question ends with a temporary failure.
        wake = pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 ? (ends[0], ends[1]) : nil
    }

    deinit {
        guard let wake else { return }
        close(wake.reading)
        close(wake.writing)
    }

    /// Looks up a name. The thread calls `report` at most once with a partial answer, and then once with the complete
    /// answer.
    ///
    /// If the name servers cannot be asked, or after ``shutdown()``, `report` is called before this returns, with a
    /// temporary failure.
    func ask(_ name: String, _ files: ResolverFiles, report: @escaping Report) {
        let isAccepted = state.withLock { state in
            if state.isShutDown || wake == nil { return false }
            state.questions.append(Question(name: name, files: files, report: report))
            if !state.isRunning {
                state.isRunning = true
                thread.start()
                thread.submit { _ in self.run() }
            }
            return true
        }
        guard isAccepted else { return report(Lookup.Progress(problem: .temporary)) }
        wakeUp()
    }

    /// Ends every lookup with a failure, and ends the thread.
    func shutdown() async {
        state.withLock { $0.isShutDown = true }
        wakeUp()
        // Fails only when the pool was never started, or is already shut down.
        try? await thread.shutdownGracefully()
    }

    private func wakeUp() {
        guard let wake else { return }
        // If the pipe is full, the thread will wake up anyway.
        _ = write(wake.writing, "x", 1)
    }

    private func run() {
        guard let wake else { return }
        var lookups: [Lookup] = []
        while true {
            let (questions, isOver) = state.withLock { state in
                defer { state.questions = [] }
                return (state.questions, state.isShutDown)
            }
            var now = NIODeadline.now()
            for question in questions {
                lookups.append(
                    Lookup(question.name, files: question.files, paths: paths, now: now, report: question.report))
            }
            if isOver {
                for lookup in lookups { lookup.abandon() }
                return
            }
            // Some lookups end at once. They are removed here, so that the thread does not wait for them.
            lookups.removeAll { $0.proceed([], now: now) }
            var entries = [pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0)]
            var counts: [Int] = []
            var next: NIODeadline?
            for lookup in lookups {
                for (socket, events) in lookup.sockets {
                    entries.append(pollfd(fd: socket, events: events, revents: 0))
                }
                counts.append(lookup.sockets.count)
                next = min(next ?? .distantFuture, lookup.wakeAt(now))
            }
            // Rounded up, since waking too early would only mean another wait.
            let wait = next.map { Int32(clamping: (max(.zero, $0 - now).nanoseconds + 999_999) / 1_000_000) } ?? -1
            guard poll(&entries, nfds_t(entries.count), wait) >= 0 || errno == EINTR else { continue }
            if entries[0].revents != 0 { drain(wake.reading) }
            now = .now()
            var position = 1
            var ended: Set<Int> = []
            for (index, lookup) in lookups.enumerated() {
                let events = entries[position..<position + counts[index]].filter { $0.revents != 0 }.map { entry in
                    (
                        socket: entry.fd, isReadable: entry.revents & ~Int16(POLLOUT) != 0,
                        isWritable: entry.revents & ~Int16(POLLIN) != 0
                    )
                }
                position += counts[index]
                if !events.isEmpty, lookup.proceed(events, now: now) { ended.insert(index) }
            }
            lookups = lookups.enumerated().filter { !ended.contains($0.offset) }.map(\.element)
        }
    }

    private func drain(_ descriptor: Int32) {
        var bytes = [UInt8](repeating: 0, count: 512)
        while read(descriptor, &bytes, bytes.count) > 0 {}
    }
}
