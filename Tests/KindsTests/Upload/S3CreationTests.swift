import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// Multipart uploads whose creation succeeded at the store, but whose response was lost.
@Suite struct S3CreationTests {
    private func send(
        to store: PartStore, path: String = "/bucket/key",
        _ check: (Result<Upload.Output, KindFailure>, [LoopbackServer.Request]) -> Void
    ) async throws {
        try await LoopbackServer.with {
            store.answer($0)
        } _: { server in
            check(try await S3Attempt(server, bytes: 3 << 20, path: path).result(), server.requests)
        }
    }

    /// The store's list contains the upload, which is then resumed, with either style of bucket address.
    @Test(arguments: [true, false]) func lostCreationIsGoneOnWith(isPathStyle: Bool) async throws {
        let store = PartStore(isPathStyle: isPathStyle)
        store.state.withLock { $0.lostCreations = .max }
        try await send(to: store, path: isPathStyle ? "/bucket/key" : "/folder/key") { result, requests in
            #expect(throws: Never.self) { try result.get() }
            #expect(store.state.withLock { $0.creations } == 1)
            let parts = requests.filter { $0.method == "PUT" }
            #expect(parts.count == 3 && parts.allSatisfy { $0.target.hasSuffix("uploadId=u1") })
        }
    }

    /// An upload belongs to someone else if it is older, has another key, or has parts.
    @Test func uploadOfSomebodyElseIsLeftAlone() async throws {
        let store = PartStore()
        store.state.withLock {
            $0.lostCreations = .max
            $0.others =
                PartStore.begun("key", "old", ago: 60) + PartStore.begun("key2", "longer", ago: 0)
                + PartStore.begun("key", "busy", ago: 0)
        }
        try await send(to: store) { result, requests in
            #expect(throws: Never.self) { try result.get() }
            #expect(requests.filter { $0.method == "PUT" }.allSatisfy { $0.target.hasSuffix("uploadId=u1") })
            #expect(!requests.contains { $0.method == "DELETE" })
        }
    }

    /// The attempt creates no second upload if the store refuses to list the uploads.
    @Test func lostCreationIsNotRepeatedBlindly() async throws {
        let store = PartStore()
        store.state.withLock { ($0.lostCreations, $0.others) = (.max, nil) }
        try await send(to: store) { result, _ in
            #expect(throws: KindFailure.self) { try result.get() }
            #expect(store.state.withLock { $0.creations } == 1)
        }
    }

    /// The request itself was lost: the list is empty, and the request is sent again.
    @Test func creationThatNeverArrivedIsRepeated() async throws {
        let store = PartStore()
        let count = Counter()
        try await LoopbackServer.with { request in
            request.target.hasSuffix("?uploads") && request.method == "POST" && count.next() == 1
                ? .close : store.answer(request)
        } _: { server in
            _ = try await S3Attempt(server, bytes: 3 << 20).output()
            #expect(store.state.withLock { $0.creations } == 1)
            #expect(count.next() == 3)
        }
    }

    /// The list is requested again, and nothing is created, until a list arrives.
    @Test func lostListIsAskedForAgain() async throws {
        let store = PartStore()
        store.state.withLock { $0.lostCreations = .max }
        let lists = Counter()
        try await LoopbackServer.with { request in
            let isList = request.method == "GET" && request.target.hasSuffix("&uploads")
            // The client itself repeats the request once, since an idle connection may have been closed.
            return isList && lists.next() <= 2 ? .close : store.answer(request)
        } _: { server in
            _ = try await S3Attempt(server, bytes: 3 << 20).output()
            #expect(store.state.withLock { $0.creations } == 1)
            #expect(lists.next() == 4)
        }
    }
}
