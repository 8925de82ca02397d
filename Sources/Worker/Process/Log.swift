import Glibc

/// The worker's log: standard error. It never contains an input or an output.
enum Log {
    /// Writes one line.
    static func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        // Losing the line is harmless: there is no other place to report it.
        _ = Glibc.write(2, bytes, bytes.count)
    }
}
