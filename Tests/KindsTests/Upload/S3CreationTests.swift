import OperationTypes
import Samples
import Servers
import Synchronization
import Testing
import Web

@testable import Kinds

/// What was begun at the store and never told.
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

    /// What was begun is found in the store's list and gone on with, in either style of address.
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

    /// Older, of another object, or with parts: another's.
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

    /// Where the store does not tell, no second one is begun in this attempt.
    @Test func lostCreationIsNotRepeatedBlindly() async throws {
        let store = PartStore()
        store.state.withLock { ($0.lostCreations, $0.others) = (.max, nil) }
        try await send(to: store) { result, _ in
            #expect(throws: KindFailure.self) { try result.get() }
            #expect(store.state.withLock { $0.creations } == 1)
        }
    }

    /// The request itself was lost: nothing is in the list, and it is sent again.
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

    /// While the list does not come, the question is asked again and nothing is begun.
    @Test func lostListIsAskedForAgain() async throws {
        let store = PartStore()
        store.state.withLock { $0.lostCreations = .max }
        let lists = Counter()
        try await LoopbackServer.with { request in
            let isList = request.method == "GET" && request.target.hasSuffix("&uploads")
            // The client asks twice, since a kept connection may have ended by itself.
            return isList && lists.next() <= 2 ? .close : store.answer(request)
        } _: { server in
            _ = try await S3Attempt(server, bytes: 3 << 20).output()
            #expect(store.state.withLock { $0.creations } == 1)
            #expect(lists.next() == 4)
        }
    }
}
