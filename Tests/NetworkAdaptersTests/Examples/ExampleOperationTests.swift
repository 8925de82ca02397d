import Dispatch
import Foundation
import Kinds
import NetworkAdapters
import NetworkOperations
import OpenCombine
import Operations
import Signals
import Testing
import Web

/// A client that may connect to the servers of these tests.
func loopbackClient() throws -> OutgoingClient {
    var configuration = OutgoingConfiguration()
    configuration.policy = AddressPolicy(allow: [try #require(AllowRule("127.0.0.1"))])
    return OutgoingClient(configuration)
}

@Suite struct ExampleOperationTests {
    private func page(_ request: TestServer.Request) -> TestServer.Answer {
        switch request.path {
        case "/short": .redirect(to: "/hop")
        case "/hop": .redirect(to: "/page")
        case "/page": .html("<!-- <title>no</title> --><TITLE lang=en> Ada &amp; Charles\n </TITLE><p>x")
        case "/untitled": .html("<p>nothing to see")
        case "/broken": .html("<title>Error</title>", status: 500)
        case "/headless" where request.method == "HEAD": .respond(405)
        case "/headless": .redirect(to: "/page")
        case "/loop": .redirect(to: "/loop")
        case "/latin": .respond(200, type: "text/html; charset=iso-8859-1", body: Array("<title>caf".utf8) + [0xE9])
        case "/silent": .silence
        default: .respond(404)
        }
    }

    private func run(_ operations: [Operation]) async {
        await withCheckedContinuation { continuation in
            let end = BlockOperation { continuation.resume() }
            for operation in operations { end.addDependency(operation) }
            let queue = OperationQueue()
            for operation in operations + [end] { queue.addOperation(operation) }
        }
    }

    @Test func shortURLIsUnfurledAndItsPageGivesATitle() async throws {
        let client = try loopbackClient()
        try await TestServer.with(page) { server in
            let unfurl = UnfurlURLChainedOperation(
                shortURL: server.base.appendingPathComponent("short"), client: client)
            let title = FetchTitleChainedOperation(client: client)
            title.addDependency(unfurl)
            await run([title, unfurl])
            #expect(unfurl.result == .success(server.base.appendingPathComponent("page")))
            #expect(title.result == .success("Ada & Charles"))
        }
        await client.shutdown()
    }

    /// Defect 20: a 405 in response to HEAD used to count as the end of the chain, and errors as success.
    @Test func refusedHeadAndLoopsAndErrors() async throws {
        let client = try loopbackClient()
        try await TestServer.with(page) { server in
            let headless = UnfurlURLOperation(shortURL: server.base.appendingPathComponent("headless"), client: client)
            let loop = UnfurlURLOperation(shortURL: server.base.appendingPathComponent("loop"), client: client)
            let broken = UnfurlURLOperation(shortURL: server.base.appendingPathComponent("broken"), client: client)
            await run([headless, loop, broken])
            #expect(headless.result == .success(server.base.appendingPathComponent("page")))
            #expect(loop.reason == .redirectLoop)
            #expect(broken.reason == .httpStatus)
        }
        await client.shutdown()
    }

    /// Defect 21: titles used to be found by text search, in UTF-8 only, regardless of the status.
    @Test func titlesComeFromAParserWhateverTheEncodingAndTheStatusCounts() async throws {
        let client = try loopbackClient()
        try await TestServer.with(page) { server in
            let latin = FetchTitleChainedOperation(input: server.base.appendingPathComponent("latin"), client: client)
            let untitled = FetchTitleChainedOperation(
                input: server.base.appendingPathComponent("untitled"), client: client)
            let broken = FetchTitleChainedOperation(input: server.base.appendingPathComponent("broken"), client: client)
            await run([latin, untitled, broken])
            #expect(latin.result == .success("café"))
            #expect(untitled.result == .failure(.missingPageTitle))
            guard case .failure(.underlying(let failure))? = broken.result else {
                Issue.record("a page of an error has no title: \(String(describing: broken.result))")
                return
            }
            #expect(failure.status == 500)
        }
        await client.shutdown()
    }

    /// Defects 17 and 19: the cause used to be lost, and the result was set twice.
    @Test func causeOfAFailureReachesTheEndOfTheChain() async throws {
        let client = try loopbackClient()
        try await TestServer.with(page) { server in
            let unfurl = UnfurlURLChainedOperation(
                shortURL: server.base.appendingPathComponent("missing"), client: client)
            let title = FetchTitleChainedOperation(client: client)
            title.addDependency(unfurl)
            await run([unfurl, title])
            guard case .failure(.upstream(.underlying(let failure)))? = title.result else {
                Issue.record("\(String(describing: title.result))")
                return
            }
            #expect(failure.status == 404)
        }
        let alone = FetchTitleChainedOperation(client: client)
        await run([alone])
        #expect(alone.result == .failure(.missingInputURL))
        await client.shutdown()
    }

    /// Defect 15: a cancellation used to be lost, and the request ran to completion.
    @Test func cancellingReachesTheServer() async throws {
        let client = try loopbackClient()
        try await TestServer.with(page) { server in
            let title = FetchTitleChainedOperation(input: server.base.appendingPathComponent("silent"), client: client)
            let queue = OperationQueue()
            queue.addOperation(title)
            #expect(await server.silenced.wait())
            queue.cancelAllOperations()
            #expect(await server.abandoned.wait())
            await #expect(throws: FetchTitleChainedOperation.Error.cancelled) { try await title.value() }
        }
        await client.shutdown()
    }

    /// Defect 6: the upload used to never start, and had no method, status check or result.
    @Test func fileIsUploaded() async throws {
        let client = try loopbackClient()
        let folder = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // A leftover temporary folder is harmless.
        let file = folder.appendingPathComponent("file.bin")
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Data(content).write(to: file)
        try await TestServer.with { request in
            request.path == "/denied" ? .respond(403) : .respond(201)
        } _: { server in
            let upload = FileUploadOperation(
                fileURL: file, targetUploadURL: server.base.appendingPathComponent("put"), client: client)
            let denied = FileUploadOperation(
                fileURL: file, targetUploadURL: server.base.appendingPathComponent("denied"), client: client)
            let absent = FileUploadOperation(
                fileURL: folder.appendingPathComponent("absent"),
                targetUploadURL: server.base.appendingPathComponent("put"), client: client)
            let queue = OperationQueue()
            for operation in [upload, denied, absent] { queue.addOperation(operation) }
            let receipt = try await upload.value()
            #expect(receipt.bytes == 300_000 && receipt.status == 201)
            let request = try #require(server.requests.first { $0.path == "/put" })
            #expect(request.method == "PUT" && request.body == content)
            await #expect { try await denied.value() } throws: { ($0 as? KindFailure)?.status == 403 }
            await #expect { try await absent.value() } throws: { ($0 as? KindFailure)?.reason == .fileNotFound }
        }
        await client.shutdown()
    }
}

extension UnfurlURLOperation {
    fileprivate var reason: KindFailure.Reason? {
        if case .failure(.underlying(let failure))? = result { failure.reason } else { nil }
    }
}

/// The durable kind `unfurl`, run in memory in each calling style.
@Suite struct KindStylesTests {
    @Test func unfurlInFiveStyles() async throws {
        let client = try loopbackClient()
        let unfurl = Unfurl(client: client)
        try await TestServer.with { request in
            request.path == "/short" ? .redirect(to: "/page") : .html("<title>Page</title>")
        } _: { server in
            let input = Unfurl.Input(url: server.base.appendingPathComponent("short").absoluteString)
            let end = server.base.appendingPathComponent("page").absoluteString

            let awaited = try await unfurl.value(input)
            #expect(awaited.finalURL == end)

            let future = try await unfurl.future(input).map(\.finalURL).get()
            #expect(future == end)

            let operation = unfurl.operation(input)
            OperationQueue().addOperation(operation)
            let queued = try await operation.value()
            #expect(queued.finalURL == end)

            let published = try await AdaptedOperation<Void, Unfurl.Output, KindFailure>(missingValue: .cancelled) {
                _, _ in
                unfurl.publisher(input)
            }.value(())
            #expect(published.finalURL == end)

            let calledBack = await withCheckedContinuation { continuation in
                unfurl.start(input) { continuation.resume(returning: $0) }
            }
            #expect(try calledBack.get().finalURL == end)
        }
        await client.shutdown()
    }

    @Test func failureOfUnfurlIsTypedInEveryStyle() async throws {
        let client = try loopbackClient()
        let unfurl = Unfurl(client: client)
        let input = Unfurl.Input(url: "ftp://127.0.0.1/")
        let operation = unfurl.operation(input)
        operation.start()
        let failures: [KindFailure?] = [
            await failure { () async throws(KindFailure) in try await unfurl.value(input) },
            await failure { () async throws(KindFailure) in try await unfurl.future(input).get() },
            await failure { () async throws(KindFailure) in try await operation.value() },
            await failure { () async throws(KindFailure) in
                try await AdaptedOperation<Void, Unfurl.Output, KindFailure>(missingValue: .cancelled) { _, _ in
                    unfurl.publisher(input)
                }.value(())
            },
            await failure { () async throws(KindFailure) in
                try await withCheckedContinuation { continuation in
                    unfurl.start(input) { continuation.resume(returning: $0) }
                }.get()
            },
        ]
        #expect(failures.map { $0?.reason } == Array(repeating: .invalidURL, count: 5))
        await client.shutdown()
    }

    private func failure(_ body: () async throws(KindFailure) -> Unfurl.Output) async -> KindFailure? {
        do throws(KindFailure) {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }
}
