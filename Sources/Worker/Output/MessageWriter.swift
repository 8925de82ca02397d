import Dispatch
import Glibc
import OperationTypes
import Synchronization
import WorkerProtocol

/// Writes messages to the daemon in the order in which they were enqueued.
///
/// A caller that finds nobody writing writes until nothing is left, including the messages that other callers enqueue
/// meanwhile. Many messages thus share one system call. If the pipe is full, a dedicated thread continues, so that the
/// caller is never blocked.
final class MessageWriter: Sendable {
    private struct State {
        var pending: [UInt8] = []
        /// The number of all bytes that were enqueued, and of those that are in the pipe.
        var enqueuedCount = 0
        var writtenCount = 0
        var isWriting = false
        /// The daemon closed its end of the pipe. Nobody reads further messages.
        var isBroken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// Threads that wait until this many bytes are in the pipe.
        var blocked: [(count: Int, signal: DispatchSemaphore)] = []
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Enqueues a message and writes it unless another caller is writing.
    func send(_ message: WorkerMessage) { send(line: message.line) }

    /// Enqueues an encoded message and writes it unless another caller is writing.
    func send(line: [UInt8]) {
        if enqueue(line) { write() }
    }

    /// Sends a message and blocks the thread until it is in the pipe, where it survives a crash of this process.
    func sendAndWait(_ message: WorkerMessage) {
        let signal = DispatchSemaphore(value: 0)
        if enqueue(message.line, signalling: signal) { writePending([], from: 0, mayBlock: true) }
        signal.wait()
    }

    /// Enqueues an encoded message without a system call, so that it may be called with a lock held.
    ///
    /// - Returns: Whether the caller must call ``write()`` afterwards.
    func enqueue(_ line: [UInt8]) -> Bool { enqueue(line, signalling: nil) }

    private func enqueue(_ line: [UInt8], signalling signal: DispatchSemaphore?) -> Bool {
        state.withLock { state in
            if state.isBroken {
                signal?.signal()
                return false
            }
            if state.pending.isEmpty { state.pending = line } else { state.pending += line }
            state.enqueuedCount += line.count
            if let signal { state.blocked.append((state.enqueuedCount, signal)) }
            if state.isWriting { return false }
            state.isWriting = true
            return true
        }
    }

    /// Writes until nothing is left. Only the caller that ``enqueue(_:)`` asked to may call it.
    func write() { writePending([], from: 0, mayBlock: false) }

    /// Waits until all enqueued messages are in the pipe.
    func waitUntilWritten() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isWriting { state.waiting.append(continuation) }
                return !state.isWriting
            }
            if isIdle { continuation.resume() }
        }
    }

    private func writePending(_ first: [UInt8], from start: Int, mayBlock: Bool) {
        var bytes = first
        var written = start
        while true {
            if written == bytes.count {
                guard let next = next(after: bytes.count) else { return }
                bytes = next
                written = 0
            }
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written) }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN, mayBlock {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, -1)
            } else if errno == EAGAIN {
                return continueOnThread(bytes, from: written)
            } else if errno != EINTR {
                return stop()
            }
        }
    }

    /// Takes the pending bytes; nil if there are none, and then the caller no longer writes.
    ///
    /// - Parameter count: The number of bytes that the caller has written since the last call.
    private func next(after count: Int) -> [UInt8]? {
        let (bytes, waiting) = state.withLock { state -> ([UInt8]?, [CheckedContinuation<Void, Never>]) in
            state.writtenCount += count
            while let first = state.blocked.first, state.isBroken || first.count <= state.writtenCount {
                first.signal.signal()
                state.blocked.removeFirst()
            }
            if state.pending.isEmpty {
                state.isWriting = false
                defer { state.waiting = [] }
                return (nil, state.waiting)
            }
            defer { state.pending = [] }
            return (state.pending, [])
        }
        for continuation in waiting { continuation.resume() }
        return bytes
    }

    private func continueOnThread(_ bytes: [UInt8], from written: Int) {
        do {
            try startThread(named: "halyard-write") { [self] in writePending(bytes, from: written, mayBlock: true) }
        } catch {
            // Without another thread, this one has to wait.
            writePending(bytes, from: written, mayBlock: true)
        }
    }

    private func stop() {
        state.withLock { state in
            state.isBroken = true
            state.pending = []
        }
        _ = next(after: 0)
    }
}

extension WorkerMessage {
    /// The message with its line break.
    var line: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    /// The message with its line break; nil if the daemon would refuse it, because it is too large or because a kind's
    /// text contains U+0000, which the store refuses.
    var acceptableLine: [UInt8]? {
        let line = line
        // The caller does not need the reason.
        return (try? WorkerProtocol.check(line)).map { line }
    }
}
