import Crypto
import Foundation
import NIOCore
import OperationTypes
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// The buffers of all uploads and parts together stay within one budget.
@Suite struct BufferBudgetTests {
    @Test func lessIsLentTheLessIsLeft() {
        let budget = BufferBudget(bytes: 4 << 20)
        var loans = [budget.lend(1 << 20), budget.lend(1 << 20), budget.lend(1 << 20), budget.lend(1 << 20)]
        #expect(loans.map(\.bytes) == [1 << 20, 1 << 20, 1 << 20, 1 << 19])
        loans += (0..<100).map { _ in budget.lend(1 << 20) }
        #expect(loans.last?.bytes == BufferBudget.least)
        #expect(budget.lent <= 4 << 20 + 100 * BufferBudget.least)
        #expect(budget.lend(1000).bytes == 1000)
        loans = []
        #expect(budget.lent == 0)
        #expect(budget.lend(1 << 20).bytes == 1 << 20)
    }

    /// Each of 64 streams that are no longer read keeps only buffers of the minimum size.
    @Test(.timeLimit(.minutes(1))) func streamsThatAreNotReadHoldTheirShareOnly() async throws {
        try await withFolder { folder in
            try Data(randomBytes(4 << 20, seed: 1)).write(to: URL(fileURLWithPath: folder + "/f"))
            try await withClient { client in
                let budget = BufferBudget(bytes: 2 << 20)
                let file = UploadSource.file(try OpenFile(beneath: folder, at: "f"))
                var streams = (0..<64).map { _ in
                    UploadStream<SHA256>(
                        source: file, piece: UploadRequest.Piece(range: 0..<4 << 20), digest: nil, expected: nil,
                        threads: client.threads,
                        buffers: budget
                    ).makeAsyncIterator()
                }
                for index in streams.indices {
                    // The server holds one buffer while the next one is read.
                    let buffer = try await streams[index].next()
                    #expect(buffer?.readableBytes ?? 0 >= BufferBudget.least)
                }
                #expect(budget.lent > 2 << 20)
                #expect(budget.lent <= 2 << 20 + 64 * 2 * BufferBudget.least)
                streams = []
                // Buffers that were still being read are released when the read ends.
                while budget.lent > 0 { await Task.yield() }
            }
        }
    }

    /// An upload makes progress even with buffers of the minimum size.
    @Test func smallestBudgetSendsEverything() async throws {
        try await withFolder { folder in
            let bytes = randomBytes((1 << 20) + 3, seed: 2)
            try Data(bytes).write(to: URL(fileURLWithPath: folder + "/f"))
            try await LoopbackServer.with { _ in
                .respond(201)
            } _: { server in
                try await withClient { client in
                    var configuration = UploadConfiguration()
                    configuration.roots = [folder]
                    configuration.bufferBytes = 1
                    let upload = Upload(client: client, configuration: configuration)
                    let output = try await upload.result(Upload.Input(file: folder + "/f", to: server.origin))
                    #expect(output.sends == 1)
                    #expect(server.requests.first?.body == bytes)
                }
            }
        }
    }

    /// Two concurrent uploads share one bandwidth limit, so the second half of the bytes waits for the first.
    @Test func bandwidthOfAllUploadsTogetherIsLimited() async throws {
        try await LoopbackServer.with { _ in
            .respond(200)
        } _: { server in
            try await withClient { client in
                var configuration = UploadConfiguration()
                configuration.maxBytesPerSecond = 8000
                let upload = Upload(client: client, configuration: configuration)
                let input = Upload.Input(to: server.origin, body: String(repeating: "x", count: 4000))
                let start = ContinuousClock.now
                async let first = upload.result(input)
                async let second = upload.result(input)
                let sizes = try await [first.bytes, second.bytes]
                #expect(sizes == [4000, 4000])
                // The limit delays everything except the last piece of 2,000 bytes.
                #expect(ContinuousClock.now - start >= .milliseconds(750))
            }
        }
    }
}
