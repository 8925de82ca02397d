import Dispatch
import Logging
import OperationTypes
import Synchronization
import Testing

@testable import Runner

/// Keeps what was logged.
final class LogRecorder: Sendable {
    struct Entry: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private struct State {
        var entries: [Entry] = []
        var waiting: [(isIt: @Sendable (String) -> Bool, signal: Latch<Bool>)] = []
    }

    private let state = Mutex(State())

    var all: [Entry] { state.withLock { $0.entries } }

    /// Waits until a message was logged.
    func wait(for message: String) async { await wait { $0 == message } }

    /// Waits until a matching message is logged. Only a broken test waits for two minutes; it fails with the last messages.
    func wait(_ isIt: @escaping @Sendable (String) -> Bool) async {
        let signal = Latch<Bool>()
        let isThere = state.withLock { state in
            state.waiting.append((isIt, signal))
            return state.entries.contains { isIt($0.message) }
        }
        if isThere { signal.open(with: true) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 120) { signal.open(with: false) }
        guard await !signal.uncancellableWait() else { return }
        let messages = all.map(\.message).suffix(20).joined(separator: "\n")
        Issue.record("no such message within two minutes; the last ones are:\n\(messages)")
    }

    private func add(_ entry: Entry) {
        let signals = state.withLock { state in
            state.entries.append(entry)
            return state.waiting.filter { $0.isIt(entry.message) }.map(\.signal)
        }
        for signal in signals { signal.open(with: true) }
    }

    func handler() -> any LogHandler { Handler(recorder: self) }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var logLevel = Logger.Level.debug
        var metadata: Logger.Metadata = [:]

        init(recorder: LogRecorder) { self.recorder = recorder }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.add(
                Entry(level: event.level, message: event.message.description, metadata: event.metadata ?? [:]))
        }
    }
}
