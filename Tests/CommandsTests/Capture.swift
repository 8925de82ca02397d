import Jobs
import Synchronization

@testable import Commands

/// Collects the printed bytes.
final class Capture: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var waiting: [(text: String, continuation: CheckedContinuation<Void, Never>)] = []

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    private let state = Mutex(State())

    var text: String { state.withLock(\.text) }

    /// Returns once `text` has been printed.
    func waitFor(_ text: String) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.text.contains(text) { return true }
                state.waiting.append((text, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func take(_ piece: [UInt8]) {
        let served = state.withLock { state in
            state.bytes += piece
            let text = state.text
            defer { state.waiting.removeAll { text.contains($0.text) } }
            return state.waiting.filter { text.contains($0.text) }
        }
        for (_, continuation) in served { continuation.resume() }
    }

    func output(terminal: (width: Int, height: Int)? = nil, colours: Bool = false) -> Output {
        Output(
            isTerminal: terminal != nil, hasColours: colours, size: { terminal },
            sink: { self.take($0) })
    }

    /// Returns the text that `print` writes.
    static func text(
        terminal: (width: Int, height: Int)? = nil, colours: Bool = false, _ print: (Output) throws -> Void
    ) throws -> String {
        let capture = Capture()
        let output = capture.output(terminal: terminal, colours: colours)
        try print(output)
        try output.flush()
        return capture.text
    }
}

extension Surroundings {
    /// Surroundings with captured streams, fixed environment variables and a fixed clock.
    static func captured(
        output: Capture, errors: Capture, input: Int32 = -1, terminal: (width: Int, height: Int)? = nil,
        variables: [String: String] = [:], now: Timestamp = Samples.now,
        lockPatience: Duration = .milliseconds(20), statusPatience: Duration = .seconds(60)
    ) -> Surroundings {
        var surroundings = Surroundings(
            input: input, output: output.output(terminal: terminal), errors: errors.output(),
            variable: { variables[$0] ?? ($0 == "TZ" ? "UTC" : nil) }, workingDirectory: { "/nowhere" }, now: { now })
        surroundings.serverClock = StoppedClock(wall: now)
        surroundings.lockPatience = lockPatience
        surroundings.statusPatience = statusPatience
        return surroundings
    }
}
