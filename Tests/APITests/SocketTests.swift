import Client
import ControlProtocol
import Foundation
import Jobs
import Logging
import Synchronization
import Testing

@testable import API

/// Opening the socket, and using one that systemd opened.
@Suite final class SocketTests {
    private let directory: String

    init() throws { directory = try TestServer.temporaryDirectory() }

    // A leftover temporary directory is harmless.
    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func socketHasItsModeWhateverTheUmask() throws {
        let socket = try ControlSocket(path: directory + "/a.sock")
        #expect(try mode(directory + "/a.sock") == 0o660)
        close(socket.descriptor)
        let other = try ControlSocket(path: directory + "/b.sock", mode: 0o600)
        #expect(try mode(directory + "/b.sock") == 0o600)
        close(other.descriptor)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["a.sock", "b.sock"])
    }

    @Test func socketFileThatNobodyAnswersOnIsReplaced() throws {
        let path = directory + "/a.sock"
        close(try ControlSocket(path: path).descriptor)
        let socket = try ControlSocket(path: path)
        _ = try RawPeer(path)
        socket.removeFile()
        #expect(!FileManager.default.fileExists(atPath: path))
        close(socket.descriptor)
    }

    @Test func livingSocketAndOtherFilesAreLeftAlone() throws {
        let living = try ControlSocket(path: directory + "/a.sock")
        #expect(throws: SocketError.inUse(path: directory + "/a.sock")) {
            try ControlSocket(path: directory + "/a.sock")
        }
        _ = try RawPeer(directory + "/a.sock")
        try Data([1]).write(to: URL(fileURLWithPath: directory + "/file"))
        #expect(throws: SocketError.notASocket(path: directory + "/file")) {
            try ControlSocket(path: directory + "/file")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory + "/file")) == Data([1]))
        close(living.descriptor)
    }

    @Test func aSocketThatCannotGetItsNameLeavesNoFile() throws {
        let path = directory + "/a.sock"
        #expect(throws: SocketError.system(path: path, call: "rename", code: EISDIR)) {
            try ControlSocket(path: path, mode: 0o660, backlog: 1, whenBound: { mkdir(path, 0o700) })
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["a.sock"])
    }

    @Test func badPathsAreToldApart() throws {
        #expect(throws: SocketError.system(path: "/nonexistent/a.sock", call: "bind", code: ENOENT)) {
            try ControlSocket(path: "/nonexistent/a.sock")
        }
        let long = "/tmp/" + String(repeating: "x", count: 120)
        #expect(throws: SocketError.pathTooLong(path: long, limit: 103)) { try ControlSocket(path: long) }
    }

    @Test func passedSocketIsServedAndItsFileStays() async throws {
        try await TestServer.with { server in
            let path = server.directory + "/passed.sock"
            let passed = try ControlSocket(path: path)
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            let second = ControlServer(
                control: server.control, socket: ControlSocket(passed: passed.descriptor), logger: logger)
            // The caller connects before the server runs, as with socket activation.
            async let status = SocketControl(path: path).status()
            let running = Task { try await second.run() }
            #expect(try await status.pid == 42)
            running.cancel()
            try await running.value
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func peerIsKnownByTheKernel() async throws {
        let seen = Seen()
        let isAllowed: ControlServer.PeerCheck = { seen.add($0) }
        try await TestServer.with(isAllowed: isAllowed) { server in _ = try await server.client.status() }
        let peer = try #require(seen.peers.first)
        #expect(peer.pid == getpid())
        #expect(peer.uid == getuid())
        #expect(peer.gid == getgid())
    }
}

private final class Seen: Sendable {
    private let list = Mutex<[PeerCredentials]>([])
    var peers: [PeerCredentials] { list.withLock(\.self) }
    func add(_ peer: PeerCredentials) -> Bool {
        list.withLock { $0.append(peer) }
        return true
    }
}
