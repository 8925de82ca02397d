import NetworkAdapters
@preconcurrency import OpenCombine
import Testing

// These examples are in their own file because OpenCombine also has a `Future`.

@Suite struct PublisherExamples {
    @Test func publishers() async throws {
        let publisher = Shout().publisher("ahoy")
        let subscription = publisher.sink(
            receiveCompletion: { _ in }, receiveValue: { print($0) })
        subscription.cancel()

        let first = AdaptedOperation<Void, Int, ShoutError>(missingValue: .nothingToSay) { _, _ in
            [1, 2, 3].publisher.setFailureType(to: ShoutError.self)
        }
        let value = try await first.value(())
        #expect(value == 1)
    }

    @Test func migrating() async throws {
        let latest = AdaptedOperation<Void, Int, ShoutError>(missingValue: .nothingToSay) { _, _ in
            Just(42).setFailureType(to: ShoutError.self)
        }
        let answer = try await latest.value(())
        let published = latest.publisher(()).map { $0 + 1 }
        #expect(answer == 42)
        let again = AdaptedOperation<Void, Int, ShoutError>(missingValue: .nothingToSay) { _, _ in published }
        #expect(try await again.value(()) == 43)
    }
}
