import Foundation
import Testing

/// Listens on a socket and handles each connection with the test's closure.
final class RawDaemon: Sendable {
    let path: String
    private let descriptor: CInt
    private let directory: String

    /// - Parameter serve: Called for each connection on a dedicated thread; the connection is closed afterwards.
    init(_ serve: @escaping @Sendable (_ connection: CInt) -> Void) throws {
        directory = FileManager.default.temporaryDirectory.path + "/halyard-raw-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        path = directory + "/s"
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(descriptor, 8) == 0)
        Thread.detachNewThread { [descriptor] in
            while true {
                let connection = accept(descriptor, nil, nil)
                if connection < 0 { return }
                Thread.detachNewThread {
                    serve(connection)
                    close(connection)
                }
            }
        }
    }

    deinit {
        shutdown(descriptor, CInt(SHUT_RDWR))
        close(descriptor)
        // Losing the error is harmless: the folder stays in the temporary directory.
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Reads to the end of a request's head; returns false if the connection ends first.
    static func readHead(_ connection: CInt) -> Bool {
        var end: [UInt8] = []
        var byte: UInt8 = 0
        while recv(connection, &byte, 1, 0) == 1 {
            end = (end + [byte]).suffix(4)
            if end == Array("\r\n\r\n".utf8) { return true }
        }
        return false
    }

    static func write(_ text: String, to connection: CInt) {
        _ = Foundation.send(connection, text, text.utf8.count, CInt(MSG_NOSIGNAL))
    }
}
