import Crypto
import Dispatch
import Foundation
import Jobs
import NIOPosix
import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// Which delays of an upload count towards the server's idle limit.
@Suite struct PaceTests {
    private func impatient() -> OutgoingConfiguration {
        var configuration = loopbackConfiguration()
        configuration.limits.idle = .milliseconds(300)
        return configuration
    }

    /// The bandwidth limit delays the pieces, so the upload takes longer than the idle limit.
    @Test func ownSlownessIsNotTheServers() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient(impatient()) { client in
                let start = ContinuousClock.now
                let output = try await Upload(client: client).result(
                    Upload.Input(
                        to: server.origin, maxRate: ByteSize(2000), body: String(repeating: "x", count: 4000)))
                #expect(output.bytes == 4000)
                #expect(ContinuousClock.now - start > .milliseconds(900))
            }
        }
    }

    /// Reading the file takes longer than the idle limit, as it may on a busy disk.
    @Test func slowSourceIsNotTheServersFault() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient(impatient()) { client in
                // Occupies all threads that read files for longer than the idle limit.
                for _ in 0..<3 {
                    client.threads.submit { _ in _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.7) }
                }
                try await withFolder { folder in
                    try Data(randomBytes(1000, seed: 1)).write(to: URL(fileURLWithPath: folder + "/f"))
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    let output = try await Upload(client: client, configuration: configuration).result(
                        Upload.Input(file: folder + "/f", to: server.origin))
                    #expect(output.bytes == 1000)
                }
            }
        }
    }

    /// The server reads the head and then nothing, so the system's socket buffers fill up.
    @Test func serverThatTakesNothingIsLeft() async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(listener, name, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, name, &length) == 0
            }
        }
        try #require(isListening)
        let port = UInt16(bigEndian: address.sin_port)
        try await withClient(impatient()) { client in
            let failure = await failure { () async throws(KindFailure) in
                try await Upload(client: client).run(
                    Upload.Input(to: "http://127.0.0.1:\(port)/", body: String(repeating: "x", count: 32 << 20)),
                    context: OperationContext())
            }
            #expect(failure?.code == "timeout")
            #expect(failure?.isRetryable == true)
        }
    }

    /// Only the time counts while the server has bytes to accept.
    @Test func limitCountsTheServersTimeOnly() async throws {
        try await withClient { client in
            let stream = UploadStream<SHA256>(
                source: .bytes(Array(repeating: 1, count: 300 << 10)),
                piece: UploadRequest.Piece(range: 0..<300 << 10), digest: nil, expected: nil, threads: client.threads,
                buffers: BufferBudget(bytes: 1 << 20))
            #expect(stream.left(of: .seconds(9)) == .seconds(9))
            var buffers = stream.makeAsyncIterator()
            while try await buffers.next() != nil { #expect(stream.left(of: .seconds(9)) < .seconds(9)) }
            #expect(stream.left(of: .seconds(9)) == .seconds(9))
            #expect(stream.stop())
        }
    }

    @Test func lowLimitsGiveSmallPieces() {
        #expect(Throttle(bytesPerSecond: nil).bufferBytes == 1 << 20)
        #expect(Throttle(bytesPerSecond: 8000).bufferBytes == 2000)
        #expect(Throttle(bytesPerSecond: 1 << 30, within: Throttle(bytesPerSecond: 1)).bufferBytes == 1024)
    }

    /// An upload that exceeds its share makes the next one wait.
    @Test func bandwidthIsShared() async throws {
        let all = Throttle(bytesPerSecond: 1000)
        let one = Throttle(bytesPerSecond: nil, within: all)
        let start = ContinuousClock.now
        try await one.take(100)
        try await all.take(1)
        try await one.take(1)
        #expect(ContinuousClock.now - start >= .milliseconds(100))
    }
}
