import Foundation
import Glibc
import Synchronization

/// Lines as they arrive from a descriptor, each waited for, none slept for. Only a broken test waits for five minutes.
public final class Lines: Sendable {
    private struct State {
        var all: [String] = []
        var isClosed = false
        var waiters: [UUID: Waiter] = [:]
    }

    private struct Waiter {
        var from: Int
        var matches: @Sendable (String) -> Bool
        var continuation: CheckedContinuation<Int?, Never>
    }

    private let state = Mutex(State())

    public init() {}

    /// Everything so far.
    public var all: [String] { state.withLock(\.all) }
    /// Everything so far, without the line feed at its end.
    public var text: String { all.joined(separator: "\n") }

    public func append(_ line: String) {
        let met = state.withLock { state in
            state.all.append(line)
            let met = state.waiters.filter { $0.value.from < state.all.count && $0.value.matches(line) }
            for id in met.keys { state.waiters[id] = nil }
            return met.values.map { ($0.continuation, state.all.count - 1) }
        }
        for (continuation, index) in met { continuation.resume(returning: index) }
    }

    public func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.continuation)
        }
        for continuation in waiting { continuation.resume(returning: nil) }
    }

    /// The first line that matches, from the given one on; nil when the other side closed, the test was cancelled, or five
    /// minutes passed before it came.
    @discardableResult
    public func first(from: Int = 0, where matches: @escaping @Sendable (String) -> Bool) async -> (
        index: Int, line: String
    )? {
        let id = UUID()
        let index = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Int?? = state.withLock { state in
                    if let index = state.all.indices.first(where: { $0 >= from && matches(state.all[$0]) }) {
                        return .some(index)
                    }
                    if state.isClosed || Task.isCancelled { return .some(nil) }
                    state.waiters[id] = Waiter(from: from, matches: matches, continuation: continuation)
                    return nil
                }
                if let answer { return continuation.resume(returning: answer) }
                DispatchQueue.global().asyncAfter(deadline: .now() + 300) { [weak self] in self?.giveUp(id) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: nil)
        }
        return index.map { index in (index, state.withLock { $0.all[index] }) }
    }

    private func giveUp(_ id: UUID) {
        guard let waiter = state.withLock({ $0.waiters.removeValue(forKey: id) }) else { return }
        let words = "No line that a test waits for came within five minutes. The last ones are:\n"
        FileHandle.standardError.write(Data((words + all.suffix(20).joined(separator: "\n") + "\n").utf8))
        waiter.continuation.resume(returning: nil)
    }

    @discardableResult
    public func first(from: Int = 0, containing text: String) async -> (index: Int, line: String)? {
        await first(from: from) { $0.contains(text) }
    }

    /// Reads until the other side closes; owns the descriptor.
    public static func reading(_ descriptor: Int32) -> Lines {
        let lines = Lines()
        Thread.detachNewThread {
            var pending: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { break }
                var rest = buffer[..<count]
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.append(String(decoding: pending + rest[..<end], as: UTF8.self))
                    pending = []
                    rest = rest[(end + 1)...]
                }
                pending += rest
            }
            if !pending.isEmpty { lines.append(String(decoding: pending, as: UTF8.self)) }
            Glibc.close(descriptor)
            lines.close()
        }
        return lines
    }
}
