import ControlProtocol
import Glibc
import Jobs

extension Holder {
    /// This process, as a holder of jobs.
    ///
    /// - Parameter state: The path that this daemon has locked. No other process on this machine has the same one.
    static func thisDaemon(of state: String) -> Holder {
        var buffer = [CChar](repeating: 0, count: 256)
        // The last byte stays zero, so that a longer name is cut.
        let isKnown = gethostname(&buffer, buffer.count - 1) == 0
        let name = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let host = isKnown && !name.isEmpty ? String(decoding: name, as: UTF8.self) : "localhost"
        return Holder(identity: "\(host):\(state)", host: host, version: Version.current)
    }
}
