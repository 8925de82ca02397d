import Client
import ControlProtocol
import Foundation
import Jobs
import Testing

/// Messages when no daemon responds.
@Suite final class ClientProblemTests {
    private let directory: String

    init() throws {
        directory = FileManager.default.temporaryDirectory.path + "/halyard-client-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    }

    // A leftover temporary directory is harmless.
    deinit { try? FileManager.default.removeItem(atPath: directory) }

    @Test(arguments: Way.allCases) func absentSocketMeansNoDaemon(way: Way) async throws {
        let path = directory + "/none.sock"
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: path).status() }
        }
        #expect(error?.code == .noDaemon)
        #expect(error?.message.contains(path) == true)
    }

    @Test(arguments: Way.allCases) func socketThatNobodyListensOnMeansNoDaemon(way: Way) async throws {
        let path = directory + "/stale.sock"
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        close(descriptor)
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: path).status() }
        }
        #expect(error?.code == .noDaemon)
    }

    @Test(arguments: Way.allCases) func pathThatIsTooLongIsToldAsSuch(way: Way) async throws {
        let path = "/tmp/" + String(repeating: "x", count: 200)
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: path).status() }
        }
        #expect(error?.code == .noDaemon)
        #expect(error?.message.contains("cannot be reached") == true)
    }
}
