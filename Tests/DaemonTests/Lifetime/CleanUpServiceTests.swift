import Jobs
import Logging
import OperationTypes
import SQLiteStore
import Synchronization
import Testing

@testable import Daemon

@Suite struct CleanUpServiceTests {
    /// Leaves something as often as it is told to.
    private struct Untidy: Kind {
        struct Input: Codable, Sendable {}
        struct Output: Codable, Sendable {}
        typealias Failure = KindProblem

        static let name = "untidy"
        static let summary = "Leaves things"
        static let inputFields: [InputField] = []

        let asked: AsyncStream<JobState?>.Continuation
        let times: Counter

        func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output { Output() }

        func cleanUp(
            asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
        ) async throws(StoreError) -> Bool {
            asked.yield(try await state(JobID(1)))
            return times.count.withLock { count in
                count -= 1
                return count >= 0
            }
        }
    }

    private struct KindProblem: OperationFailure {
        var code: String { "none" }
        var isRetryable: Bool { false }
        var description: String { "none" }
    }

    private final class Counter: Sendable {
        let count: Mutex<Int>
        init(_ count: Int) { self.count = Mutex(count) }
    }

    private func withService(
        leaving times: Int, interval: Duration, _ body: (SQLiteJobStore, AsyncStream<JobState?>) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteJobStore.open(try DatabaseLock.acquire(forDatabaseAt: folder.path + "/halyard.db"))
        let (stream, asked) = AsyncStream.makeStream(of: JobState?.self)
        let kind = Untidy(asked: asked, times: Counter(times))
        var other = Untidy.description
        other.name = "other"
        try await store.register([Untidy.description, other], now: wallClock())
        let service = CleanUpService(
            store: store, kinds: { [registry = try KindRegistry([kind])] in registry }, interval: interval,
            pause: .milliseconds(1),
            logger: Logger(label: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            try await body(store, stream)
            group.cancelAll()
            try await group.waitForAll()
        }
        await store.close()
    }

    /// Once at the start, then after each interval for as long as something is left.
    @Test(.timeLimit(.minutes(1))) func itAsksAgainWhileSomethingIsLeft() async throws {
        try await withService(leaving: 2, interval: .milliseconds(5)) { _, asked in
            var times = asked.makeAsyncIterator()
            for _ in 0..<3 { #expect(await times.next() == .some(nil)) }
        }
    }

    /// Not for an interval: as soon as the job was cancelled. One of another kind is none that this kind knows.
    @Test(.timeLimit(.minutes(1)), arguments: [("untidy", .cancelled), ("other", nil)] as [(String, JobState?)])
    func itAsksWhenAJobWasCancelled(kind: String, state: JobState?) async throws {
        try await withService(leaving: 0, interval: .seconds(3600)) { store, asked in
            var times = asked.makeAsyncIterator()
            #expect(await times.next() == .some(nil))
            try await store.change(
                DefinitionChange(definitions: [Definition(name: "mess", kind: kind)]), now: wallClock())
            let keeper = DefinitionKeeper(store: store, logger: Logger(label: "test"))
            try await keeper.load(by: try await store.anyHolder(now: wallClock()))
            _ = try await store.enqueue([try await keeper.plan(ChildJob(definition: "mess"))], now: wallClock())
            _ = try await store.cancel([JobID(1)], now: wallClock())
            #expect(await times.next() == .some(state))
        }
    }
}
