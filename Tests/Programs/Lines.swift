import Foundation
import Glibc
import Synchronization

/// Lines as they arrive from a descriptor, each waited for, none slept for: a test's time limit is the only clock.
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

    /// The first line that matches, from the given one on; nil when the other side closed, or the test was cancelled,
    /// before it came.
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
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: nil)
        }
        return index.map { index in (index, state.withLock { $0.all[index] }) }
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
