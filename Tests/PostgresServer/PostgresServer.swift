import Foundation
import PostgreSQL
import Synchronization

/// A PostgreSQL server that all tests of the process use. It ends with the process: its script reads from a pipe that
/// the kernel closes then.
public final class PostgresServer: Sendable {
    /// The URL of the server's own database.
    public let url: String
    private let count = Atomic(0)

    /// The server; nil if PostgreSQL is not installed.
    public static let shared: PostgresServer? = start()

    private init(url: String) { self.url = url }

    private static func start() -> PostgresServer? {
        let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let script = Process()
        script.executableURL = repository.appendingPathComponent("scripts/test.d/postgres")
        let (input, output) = (Pipe(), Pipe())
        script.standardInput = input
        script.standardOutput = output
        do {
            try script.run()
        } catch {
            return nil
        }
        // Kept open until the process ends, which ends the server.
        running.withLock { $0 = (script, input) }
        var line: [UInt8] = []
        while line.last != UInt8(ascii: "\n") {
            let byte = output.fileHandleForReading.readData(ofLength: 1)
            if byte.isEmpty { return nil }
            line += byte
        }
        return PostgresServer(url: String(decoding: line.dropLast(), as: UTF8.self))
    }

    private static let running = Mutex<(Process, Pipe)?>(nil)

    /// Creates an empty database.
    ///
    /// - Returns: Its URL.
    public func makeDatabase() throws -> String {
        let name = "test_\(getpid())_\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
        try Connection(to: url).run("CREATE DATABASE \(name)")
        return url.replacingOccurrences(of: "/postgres?", with: "/\(name)?")
    }

    /// Removes a database, even if connections to it are left.
    public func dropDatabase(_ database: String) throws {
        guard let name = database.split(separator: "?")[0].split(separator: "/").last else { return }
        try Connection(to: url).run("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }
}
