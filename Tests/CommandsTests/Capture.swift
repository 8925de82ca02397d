import Jobs
import Synchronization

@testable import Commands

/// Takes what is printed.
final class Capture: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    func output(terminal: (width: Int, height: Int)? = nil, colours: Bool = false) -> Output {
        Output(
            isTerminal: terminal != nil, hasColours: colours, size: { terminal },
            sink: { piece in self.bytes.withLock { $0 += piece } })
    }

    /// What `print` writes.
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
    /// Streams that are kept, fixed variables and a fixed clock.
    static func captured(
        output: Capture, errors: Capture, input: Int32 = -1, terminal: (width: Int, height: Int)? = nil,
        variables: [String: String] = [:], now: Timestamp = Samples.now
    ) -> Surroundings {
        Surroundings(
            input: input, output: output.output(terminal: terminal), errors: errors.output(),
            variable: { variables[$0] }, workingDirectory: { "/nowhere" }, now: { now })
    }
}
